package schema

import (
	"context"
	"regexp"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5"
)

// Inspect compares the database with what the migrations make, and looks at what hurts the tables.
func (s *Schema) Inspect(ctx context.Context, c *pgx.Conn) (in store.Inspection, err error) {
	if in.Schema, err = s.Version(ctx, c); err != nil {
		return in, err
	}
	if in.Faults, err = s.faults(ctx, c); err != nil {
		return in, err
	}
	if in.Transactions, err = transactions(ctx, c, time.Minute); err != nil {
		return in, err
	}
	rows, _ := c.Query(ctx, findUnclean, s.Name) // CollectRows returns its error
	in.Unclean, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (
		t store.UncleanTable, err error) {
		return t, r.Scan(&t.Name, &t.Live, &t.Dead, &t.Off)
	})
	return in, err
}

// transactions returns those that have been open for so long.
func transactions(ctx context.Context, c *pgx.Conn, age time.Duration) (
	[]store.OpenTransaction, error,
) {
	rows, _ := c.Query(ctx, findTransactions, age.Seconds()) // CollectRows returns its error
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (t store.OpenTransaction, err error) {
		var since, age int64
		err = r.Scan(&t.Session, &t.Program, &t.State, &since, &age)
		t.Since, t.Age = task.Time(since), time.Duration(age)*time.Microsecond
		return t, err
	})
}

// The names in the migrations. Each table has a primary key, which PostgreSQL names after it.
var (
	madeTable = regexp.MustCompile(`(?m)^CREATE TABLE schema\.(\w+)`)
	madeIndex = regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?INDEX (\w+)`)
)

// faults returns the tables and indexes that are missing, or that the database does not use.
func (s *Schema) faults(ctx context.Context, c *pgx.Conn) (out []store.SchemaFault, err error) {
	type object struct{ index, valid bool }
	have := map[string]object{}
	rows, _ := c.Query(ctx, findObjects, s.Name) // ForEachRow returns its error
	var name string
	var o object
	if _, err := pgx.ForEachRow(rows, []any{&name, &o.index, &o.valid}, func() error {
		have[name] = o
		return nil
	}); err != nil {
		return nil, err
	}
	check := func(what, name string) {
		o, ok := have[name]
		switch {
		case !ok || o.index != (what == "index"):
			out = append(out, store.SchemaFault{Object: what, Name: name, Problem: "missing"})
		case !o.valid:
			out = append(out, store.SchemaFault{Object: what, Name: name, Problem: "invalid"})
		}
	}
	for _, m := range s.all {
		for _, t := range madeTable.FindAllStringSubmatch(m.SQL, -1) {
			check("table", t[1])
			check("index", t[1]+"_pkey")
		}
		for _, i := range madeIndex.FindAllStringSubmatch(m.SQL, -1) {
			check("index", i[1])
		}
	}
	return out, nil
}
