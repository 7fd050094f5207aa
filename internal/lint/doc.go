// Package lint holds the rules of this repository as tests. It reads every file in process,
// so the result is never older than the files, and it names what is wrong and where to mend it.
//
// The rules: which package may import which (the table in table_test.go), what code may not do
// (start goroutines, sleep, keep variables), how large things may be, what must be documented,
// and what no file may say. Each rule has a self-test in rules_test.go that shows it failing.
package lint
