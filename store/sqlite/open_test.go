package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"
)

// foreign opens a second connection to a file for the length of a test.
func foreign(t *testing.T, path string) *sqlite.Foreign {
	t.Helper()
	c, err := sqlite.OpenForeign(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestOpenRefusesPaths(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, words := range map[string]string{
		"":                                  "use store/memory",
		":memory:":                          "use store/memory",
		"file::memory:?cache=shared":        "use store/memory",
		filepath.Join(dir, "none", "ax.db"): "the directory must exist",
		filepath.Join(file, "ax.db"):        "is not a directory",
		dir:                                 dir,
	} {
		s, err := sqlite.Open(path)
		if err == nil {
			_ = s.Close()
			t.Errorf("%q was opened", path)
		} else if !strings.Contains(err.Error(), words) {
			t.Errorf("%q gave %q; want words like %q", path, err, words)
		}
	}
}

// A file that is not one of ax, or not one that this program understands, is left as it is.
func TestOpenRefusesFiles(t *testing.T) {
	for name, c := range map[string]struct {
		script string // on a file of ax, or instead of one
		fresh  bool
		want   error
	}{
		"newer":   {"UPDATE ax_meta SET value = '99' WHERE name = 'schema'", false, store.ErrNewer},
		"odd":     {"UPDATE ax_meta SET value = 'x' WHERE name = 'schema'", false, store.ErrDamaged},
		"bare":    {"DELETE FROM ax_meta", false, store.ErrDamaged},
		"no meta": {"DROP TABLE ax_meta", false, store.ErrDamaged},
		"other":   {"CREATE TABLE customers (id)", true, store.ErrDamaged},
		"claimed": {"PRAGMA application_id = 77; CREATE TABLE t (id)", true, store.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ax.db")
			if !c.fresh {
				s, err := sqlite.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			f, err := sqlite.OpenForeign(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(f.Exec(c.script), f.Close()); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if s, err := sqlite.Open(path); !errors.Is(err, c.want) {
				t.Errorf("open gave %v, %v; want %v", s, err, c.want)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the refused file was changed (%v)", err)
			}
		})
	}
}

func TestOpenRefusesGarbage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("not a database. "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := sqlite.Open(path); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("open gave %v, %v; want ErrDamaged", s, err)
	}
}

// Pages that were overwritten are found when they are read, and named.
func TestDamagedPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	mustInsert(t, s, newTasks(2000, false))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 40 * 8192; i < len(raw); i++ {
		raw[i] = 0xa5
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	if n, err := s.Count(t.Context(), 0); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("count over damaged pages gave %v, %v; want ErrDamaged", n, err)
	}
}

// Processes that meet an empty file at once make one schema.
func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	const n = 6
	var wg sync.WaitGroup
	stores := make([]*sqlite.Store, n)
	for i := range n {
		wg.Go(func() {
			var err error
			if stores[i], err = sqlite.Open(path); err != nil {
				t.Errorf("open %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for i, s := range stores {
		ts := newTasks(1, false)
		mustInsert(t, s, ts)
		rows, err := stores[(i+1)%n].Tasks(t.Context(), []task.ID{ts[0].ID})
		if err != nil || len(rows) != 1 {
			t.Errorf("the task of store %d read through the next: %d rows, %v", i, len(rows), err)
		}
	}
	for _, s := range stores {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	ts := newTasks(3, true)
	mustInsert(t, s, ts)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	more := newTasks(3, true)
	more[0].Key, more[0].Kind = ts[0].Key, ts[0].Kind
	in, err := s.Insert(t.Context(), store.Fence{}, more)
	if err != nil || in[0].ID != ts[0].ID || !in[0].Duplicate || in[1].Duplicate {
		t.Errorf("insert after the file was opened again: %+v, %v", in, err)
	}
	for _, id := range []task.ID{ts[0].ID, ts[2].ID, more[2].ID} {
		if h, err := s.History(t.Context(), id); err != nil || len(h) != 1 {
			t.Errorf("history of %s: %v, %v", id, h, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for want, opts := range map[int64][]sqlite.Option{
		2: nil, 1: {sqlite.Synchronous(sqlite.Normal)},
	} {
		s := open(t, filepath.Join(t.TempDir(), "ax.db"), opts...)
		if got, err := s.WriterPragma("synchronous"); err != nil || got != want {
			t.Errorf("synchronous is %d, %v; want %d", got, err, want)
		}
	}
	at := time.Date(2031, 2, 3, 4, 5, 6, 7000, time.UTC)
	s := open(t, filepath.Join(t.TempDir(), "ax.db"),
		sqlite.Clock(func() time.Time { return at }))
	in, err := s.Insert(t.Context(), store.Fence{}, newTasks(1, false))
	if err != nil || in[0].At != task.FromGo(at) || in[0].RunAt != task.FromGo(at) {
		t.Errorf("insert at %d, due at %d, %v; want %d", in[0].At, in[0].RunAt, err, task.FromGo(at))
	}
}
