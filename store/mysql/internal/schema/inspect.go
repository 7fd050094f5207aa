package schema

import (
	"context"
	"database/sql"
	"regexp"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Inspect compares the database with what the migrations make, and looks at what hurts the tables.
func (s *Schema) Inspect(ctx context.Context, c *sql.Conn) (in store.Inspection, err error) {
	if in.Schema, err = s.Version(ctx, c); err != nil {
		return in, err
	}
	if in.Faults, err = s.faults(ctx, c); err != nil {
		return in, err
	}
	in.Transactions, err = transactions(ctx, c, time.Minute)
	return in, err
}

const (
	findObjects = `
SELECT table_name, 'PRIMARY' FROM information_schema.tables
 WHERE table_schema = database() AND engine = 'InnoDB'
UNION
SELECT table_name, index_name FROM information_schema.statistics WHERE table_schema = database()`

	// findTransactions needs the privilege PROCESS to see those of other accounts.
	findTransactions = `
SELECT t.trx_mysql_thread_id, coalesce(p.user, ''), coalesce(p.command, ''),
       timestampdiff(MICROSECOND, t.trx_started, sysdate(6))
  FROM information_schema.innodb_trx t
  JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
 WHERE p.db = database() AND p.id <> connection_id()
   AND t.trx_started < sysdate(6) - INTERVAL ? SECOND
 ORDER BY t.trx_started LIMIT 20`

	clock = `SELECT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))`
)

// The names in the migrations. Indexes stand within their tables.
var (
	madeTable = regexp.MustCompile(`(?m)^CREATE TABLE IF NOT EXISTS (\w+)`)
	madeIndex = regexp.MustCompile(`(?m)^ +(?:UNIQUE )?KEY (\w+)`)
)

// faults returns the tables and indexes that are missing. A table of another engine than InnoDB,
// which has no transactions, is missing too.
func (s *Schema) faults(ctx context.Context, c *sql.Conn) (out []store.SchemaFault, err error) {
	tables, indexes := map[string]bool{}, map[string]bool{}
	rows, err := c.QueryContext(ctx, findObjects)
	err = eachPair(rows, err, func(table, index string) {
		tables[table], indexes[index] = true, true
	})
	if err != nil {
		return nil, err
	}
	scripts := []string{createMeta}
	for _, m := range s.all {
		scripts = append(scripts, m.SQL)
	}
	for _, text := range scripts {
		text = s.Render(text)
		for _, t := range madeTable.FindAllStringSubmatch(text, -1) {
			if !tables[t[1]] {
				out = append(out, store.SchemaFault{Object: "table", Name: t[1], Problem: "missing"})
			}
		}
		for _, i := range madeIndex.FindAllStringSubmatch(text, -1) {
			if !indexes[i[1]] {
				out = append(out, store.SchemaFault{Object: "index", Name: i[1], Problem: "missing"})
			}
		}
	}
	return out, nil
}

// transactions returns those that have been open for so long. An account that may not look gets
// none: what it cannot see is no fault of the database.
func transactions(ctx context.Context, c *sql.Conn, age time.Duration) (
	out []store.OpenTransaction, err error,
) {
	var now int64
	if err := c.QueryRowContext(ctx, clock).Scan(&now); err != nil {
		return nil, err
	}
	rows, err := c.QueryContext(ctx, findTransactions, int64(age/time.Second))
	if err != nil {
		return nil, nil
	}
	defer rows.Close()
	for rows.Next() {
		var t store.OpenTransaction
		var age int64
		if err := rows.Scan(&t.Session, &t.Program, &t.State, &age); err != nil {
			return nil, err
		}
		t.Since, t.Age = task.Time(now-age), time.Duration(age)*time.Microsecond
		out = append(out, t)
	}
	return out, rows.Err()
}
