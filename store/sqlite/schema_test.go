package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite"
)

// change runs a script on a file that no store has open.
func change(t *testing.T, path, script string) {
	t.Helper()
	f, err := sqlite.OpenForeign(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Exec(script), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// made returns the path of a file of ax that no store has open.
func made(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ax.db")
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNoMigrate: a store that was told so neither makes nor changes a file, and opens one that is
// as it should be.
func TestNoMigrate(t *testing.T) {
	open(t, made(t), sqlite.NoMigrate())

	missing := filepath.Join(t.TempDir(), "ax.db")
	if _, err := sqlite.Open(missing, sqlite.NoMigrate()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the missing file: %v", err)
	}

	empty := filepath.Join(t.TempDir(), "ax.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(empty, sqlite.NoMigrate()); !errors.Is(err, store.ErrOlder) {
		t.Errorf("an empty file gave %v", err)
	}
	if b, err := os.ReadFile(empty); err != nil || len(b) > 0 {
		t.Errorf("the empty file has now %d bytes, %v", len(b), err)
	}

	newer := made(t)
	change(t, newer, "UPDATE ax_meta SET value = '99' WHERE name = 'schema'")
	if _, err := sqlite.Open(newer, sqlite.NoMigrate()); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a newer file gave %v", err)
	}
}

func TestStatus(t *testing.T) {
	path := made(t)
	v, err := sqlite.Status(path)
	if err != nil || v.Installed != v.Newest || v.Newest < 1 {
		t.Errorf("a file that was just made: %+v, %v", v, err)
	}
	change(t, path, "UPDATE ax_meta SET value = '99' WHERE name = 'schema'")
	if got, err := sqlite.Status(path); err != nil || got.Installed != 99 || got.Newest != v.Newest {
		t.Errorf("a newer file: %+v, %v", got, err)
	}
	empty := filepath.Join(t.TempDir(), "ax.db")
	if _, err := sqlite.Status(empty); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := sqlite.Status(empty); err != nil || got.Installed != 0 {
		t.Errorf("an empty file: %+v, %v", got, err)
	}
	other := filepath.Join(t.TempDir(), "other.db")
	change(t, other, "CREATE TABLE customers (id)")
	if _, err := sqlite.Status(other); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a file of somebody else gave %v", err)
	}
}

// TestDump: what the script makes by hand is what Open makes.
func TestDump(t *testing.T) {
	script, err := sqlite.Dump(0)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ax.db")
	change(t, path, script)
	s := open(t, path, sqlite.NoMigrate())
	if in, err := s.Inspect(t.Context()); err != nil || len(in.Faults) > 0 {
		t.Errorf("the file made by hand: %+v, %v", in, err)
	}
	mustInsert(t, s, newTasks(3, true))
	v, err := sqlite.Status(path)
	if err != nil {
		t.Fatal(err)
	}
	if rest, err := sqlite.Dump(v.Newest); err != nil || rest != "" {
		t.Errorf("after the newest version: %q, %v", rest, err)
	}
	if _, err := sqlite.Dump(v.Newest + 1); !errors.Is(err, store.ErrNewer) {
		t.Errorf("after a version that is unknown: %v", err)
	}
}

// TestInspectFinds: an index that is gone, one that was made otherwise, a table that is gone with
// its indexes.
func TestInspectFinds(t *testing.T) {
	path := made(t)
	change(t, path, `
DROP INDEX ax_tasks_due;
DROP INDEX ax_tasks_rest; CREATE INDEX ax_tasks_rest ON ax_tasks (state);
DROP TABLE ax_kinds;
CREATE INDEX ax_of_theirs ON ax_tasks (kind)`)
	in, err := open(t, path).Inspect(t.Context())
	want := []store.SchemaFault{{Object: "index", Name: "ax_tasks_due", Problem: "missing"},
		{Object: "index", Name: "ax_tasks_rest", Problem: "differs"},
		{Object: "table", Name: "ax_kinds", Problem: "missing"}}
	if err != nil || !slices.Equal(in.Faults, want) {
		t.Errorf("found %+v, %v; want %+v", in.Faults, err, want)
	}
}

// TestMigrateAtOnce: of stores that open one empty file at the same time, some of which must not
// change it, the others make one schema.
func TestMigrateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			var opts []sqlite.Option
			if i%3 == 0 {
				opts = append(opts, sqlite.NoMigrate())
			}
			s, err := sqlite.Open(path, opts...)
			switch {
			case err == nil:
				err = s.Close()
			case i%3 == 0 && errors.Is(err, store.ErrOlder):
				err = nil // it came first
			}
			if err != nil {
				t.Errorf("open %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	in, err := open(t, path, sqlite.NoMigrate()).Inspect(t.Context())
	if err != nil || len(in.Faults) > 0 {
		t.Errorf("afterwards: %+v, %v", in, err)
	}
}
