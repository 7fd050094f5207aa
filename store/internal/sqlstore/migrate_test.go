package sqlstore_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/internal/sqlstore"
)

func files(names ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for _, n := range names {
		fs["m/"+n] = &fstest.MapFile{Data: []byte("-- " + n)}
	}
	return fs
}

func TestLoad(t *testing.T) {
	all, err := sqlstore.Load(files("0002_more_columns.sql", "0001_init.sql"), "m")
	if err != nil {
		t.Fatal(err)
	}
	want := []sqlstore.Migration{{Version: 1, Name: "init", SQL: "-- 0001_init.sql"},
		{Version: 2, Name: "more_columns", SQL: "-- 0002_more_columns.sql"}}
	if len(all) != 2 || all[0] != want[0] || all[1] != want[1] {
		t.Errorf("loaded %+v; want %+v", all, want)
	}
}

func TestLoadRefuses(t *testing.T) {
	for words, names := range map[string][]string{
		"want number 0002": {"0001_init.sql", "0003_c.sql"},
		"want number 0001": {"0002_b.sql"},
		"want a name":      {"0001_init.sql", "2_b.sql"},
		"0001_b.sql":       {"0001_a.sql", "0001_b.sql"},
		"README":           {"0001_init.sql", "README"},
		"init.txt":         {"0001_init.txt"},
	} {
		if all, err := sqlstore.Load(files(names...), "m"); err == nil ||
			!strings.Contains(err.Error(), words) {
			t.Errorf("%v gave %v, %v; want words like %q", names, all, err, words)
		}
	}
	if all, err := sqlstore.Load(fstest.MapFS{"m": {Mode: 0o755 | 1<<31}}, "m"); err == nil {
		t.Errorf("an empty directory gave %v", all)
	}
	if all, err := sqlstore.Load(files("0001_init.sql"), "none"); err == nil {
		t.Errorf("a directory that is not there gave %v", all)
	}
}

func TestPlan(t *testing.T) {
	all, err := sqlstore.Load(files("0001_a.sql", "0002_b.sql", "0003_c.sql"), "m")
	if err != nil {
		t.Fatal(err)
	}
	for installed := range 4 {
		todo, err := sqlstore.Plan(all, installed)
		if err != nil || len(todo) != 3-installed {
			t.Errorf("plan from %d: %v, %v", installed, todo, err)
		}
		if len(todo) > 0 && todo[0].Version != installed+1 {
			t.Errorf("plan from %d begins with %d", installed, todo[0].Version)
		}
	}
	if _, err := sqlstore.Plan(all, 4); !errors.Is(err, store.ErrNewer) {
		t.Errorf("plan from a newer version gave %v; want ErrNewer", err)
	}
	if _, err := sqlstore.Plan(all, -1); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("plan from -1 gave %v; want ErrDamaged", err)
	}
}
