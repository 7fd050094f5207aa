// Package sqlite keeps tasks in one SQLite file: the store for one machine.
//
// One process leads, others on the same machine may submit and read through the same file. The
// right to lead is a lock of the operating system on a file beside the database, which the kernel
// gives back when the process dies, however it dies: see [Store.Leases].
//
// Writes of all goroutines are gathered: one of the callers becomes the writer, takes what waits
// and commits it in one transaction, and each call returns when its own commit is durable. Reads
// have connections of their own and see what was committed before they began.
//
// The file is in WAL mode: beside it lie "-wal" and "-shm" files, which belong to it. Do not open
// the database file by other means within the process: closing such a file drops the locks of
// SQLite (a property of POSIX locks).
package sqlite
