package testdb

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// serverFolders are where distributions and package managers put the server programs, which
// are rarely in PATH.
var serverFolders = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
}

// serverPrograms returns the folder that has initdb and postgres, after installing them if
// that is needed and possible.
func serverPrograms() (string, error) {
	if dir := findPrograms(os.Getenv("PATH"), serverFolders); dir != "" {
		return dir, nil
	}
	if err := install(); err != nil {
		return "", fmt.Errorf("no PostgreSQL programs (initdb, postgres) in PATH or %v, "+
			"and %s is not set: %w", serverFolders, dsnEnv, err)
	}
	if dir := findPrograms(os.Getenv("PATH"), serverFolders); dir != "" {
		return dir, nil
	}
	return "", errors.New("PostgreSQL was installed but its programs are not in the usual place")
}

// findPrograms looks in a PATH, then in folders given as patterns, the newest version first.
func findPrograms(path string, patterns []string) string {
	for _, dir := range filepath.SplitList(path) {
		// The programs find their other files beside themselves, so a link is followed.
		p, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
		if err == nil && hasPrograms(filepath.Dir(p)) {
			return filepath.Dir(p)
		}
	}
	var found []string
	for _, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			continue // only a malformed pattern
		}
		found = append(found, slices.DeleteFunc(dirs, func(d string) bool {
			return !hasPrograms(d)
		})...)
	}
	if len(found) == 0 {
		return ""
	}
	return slices.MaxFunc(found, func(a, b string) int {
		return cmp.Compare(versionIn(a), versionIn(b))
	})
}

func hasPrograms(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

var number = regexp.MustCompile(`[0-9]+`)

// versionIn returns the number in a folder's name, 0 if it has none.
func versionIn(dir string) int {
	n, err := strconv.Atoi(number.FindString(dir))
	if err != nil {
		return 0
	}
	return n
}
