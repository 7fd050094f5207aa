package command

import (
	"os"
	"path/filepath"
	"testing"
)

// TestArgs: a program gets its arguments as they are, and is found in the PATH that it has.
func TestArgs(t *testing.T) {
	dir := t.TempDir()
	script := []byte("#!/bin/sh\necho \"$0|$1|$2|$#\"\n")
	for name, mode := range map[string]os.FileMode{"ax-test-run": 0o700, "ax-test-text": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), script, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir) // of this process: it counts for nothing
	for _, c := range []struct{ program, path, out, err string }{
		{"ax-test-run", "/nowhere:" + dir, dir + "/ax-test-run|a b|$HOME;|2\n", ""},
		{"./ax-test-run", "/bin", "./ax-test-run|a b|$HOME;|2\n", ""},
		{dir + "/ax-test-run", "/bin", dir + "/ax-test-run|a b|$HOME;|2\n", ""},
		{"ax-test-run", "/bin", "", `start: program "ax-test-run" is not in the PATH /bin`},
		{"ax-test-run", ".", "", `start: program "ax-test-run" is not in the PATH .`},
		{"ax-test-text", dir, "", `start: program "ax-test-text" is not in the PATH ` + dir},
		{"ax-test-run", "", "", `start: program "ax-test-run": there is no PATH; give its whole path`},
	} {
		s := Spec{Args: []string{c.program, "a b", "$HOME;"}, Dir: dir}
		if c.path != "" {
			s.Env = []string{"PATH=" + c.path}
		}
		out, err := run(t, s)
		if out != c.out || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s in %q: output %q, error %v", c.program, c.path, out, err)
		}
	}
}

// TestFolder: a working directory that is none is blamed by name, and not the program.
func TestFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		file + "s": "start: working directory: stat " + file + "s: no such file or directory",
		file:       "start: working directory: " + file + " is no folder",
	} {
		_, err := run(t, Spec{Args: []string{"/bin/ls"}, Dir: dir})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", dir, err, want)
		}
	}
}
