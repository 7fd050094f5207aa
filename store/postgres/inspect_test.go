package postgres_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres"
	"github.com/ax-sched/ax/task"
)

// TestNoMigrate: a store that was told so makes nothing, and opens what is as it should be, with no
// more than the rights on the tables.
func TestNoMigrate(t *testing.T) {
	dsn := testdb.Postgres(t)
	if _, err := postgres.Open(soon(t), dsn, postgres.NoMigrate()); !errors.Is(err, store.ErrOlder) {
		t.Errorf("an empty database gave %v", err)
	}
	if v, err := postgres.Status(soon(t), dsn); err != nil || v.Installed != 0 || v.Newest < 1 {
		t.Errorf("an empty database: %+v, %v", v, err)
	}
	openStore(t, dsn)
	openStore(t, dsn, postgres.NoMigrate())
	v, err := postgres.Status(soon(t), dsn)
	if err != nil || v.Installed != v.Newest {
		t.Errorf("after Open: %+v, %v", v, err)
	}
	exec(t, session(t, dsn), "UPDATE ax_meta SET value = '999' WHERE name = 'schema_version'")
	if _, err := postgres.Open(soon(t), dsn, postgres.NoMigrate()); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a newer database gave %v", err)
	}
	if got, err := postgres.Status(soon(t), dsn); err != nil || got.Installed != 999 {
		t.Errorf("a newer database: %+v, %v", got, err)
	}
	if _, err := postgres.Status(soon(t), dsn, postgres.Schema("none")); err == nil {
		t.Error("a schema that does not exist has a status")
	}
}

// TestDump: what the script makes by hand, in a schema of any name and in the first of the path,
// is what Open makes.
func TestDump(t *testing.T) {
	for _, name := range []string{"", `Bill's "own"`} {
		dsn := testdb.Postgres(t)
		admin := session(t, dsn)
		if name != "" {
			exec(t, admin, `CREATE SCHEMA "Bill's ""own"""`)
		}
		script, err := postgres.Dump(name, 0)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(script, "\n")
		if name != "" && strings.Contains(first, `own`) {
			t.Errorf("the comment names the schema: %s", first)
		}
		exec(t, admin, script)
		s := openStore(t, dsn, postgres.NoMigrate(), postgres.Schema(name))
		if in, err := s.Inspect(soon(t)); err != nil || len(in.Faults) > 0 {
			t.Errorf("%q, made by hand: %+v, %v", name, in, err)
		}
		stored(t, s, []task.Task{plainTask()})
		if rest, err := postgres.Dump(name, 1); err != nil || rest != "" {
			t.Errorf("after the newest version: %q, %v", rest, err)
		}
	}
}

// TestInspectFinds: a table and indexes that are gone or not valid, a transaction that stays open,
// a table that is never vacuumed.
func TestInspectFinds(t *testing.T) {
	dsn := testdb.Postgres(t)
	s := openStore(t, dsn)
	admin := session(t, dsn)
	exec(t, admin, "DROP INDEX ax_tasks_due")
	exec(t, admin, "DROP TABLE ax_kinds")
	exec(t, admin, "ALTER TABLE ax_history SET (autovacuum_enabled = false)")
	// A build that fails leaves an index behind that is not valid.
	exec(t, admin, "DROP INDEX ax_tasks_job")
	stored(t, s, []task.Task{plainTask(), plainTask()})
	if _, err := admin.Exec(soon(t),
		"CREATE UNIQUE INDEX CONCURRENTLY ax_tasks_job ON ax_tasks (state)"); err == nil {
		t.Fatal("two rows have one state, and the index was built")
	}
	in, err := s.Inspect(soon(t))
	want := []store.SchemaFault{
		{Object: "index", Name: "ax_tasks_due", Problem: "missing"},
		{Object: "index", Name: "ax_tasks_job", Problem: "invalid"},
		{Object: "table", Name: "ax_kinds", Problem: "missing"},
		{Object: "index", Name: "ax_kinds_pkey", Problem: "missing"},
	}
	if err != nil || len(in.Faults) != len(want) {
		t.Fatalf("found %+v, %v; want %+v", in.Faults, err, want)
	}
	for _, w := range want {
		if !slices.Contains(in.Faults, w) {
			t.Errorf("found %+v; want %+v", in.Faults, w)
		}
	}
	if len(in.Unclean) != 1 || in.Unclean[0].Name != "ax_history" || !in.Unclean[0].Off {
		t.Errorf("not vacuumed: %+v", in.Unclean)
	}
	if len(in.Transactions) != 0 {
		t.Errorf("none is open for a minute: %+v", in.Transactions)
	}
}
