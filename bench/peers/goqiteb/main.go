// Command goqiteb measures goqite, a queue in SQLite, with the driver that ax builds on. A job of
// it keeps no history: its row is deleted when it is done.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/ax-sched/ax/bench/peers/measure"
	"maragu.dev/goqite"
)

// bench is the flags, the queue under test and its database.
type bench struct {
	mode    string
	dir     string
	sync    string
	schema  string
	callers int
	many    int
	length  time.Duration
	jobs    int
	slots   int
	limit   time.Duration
	submits int
	poll    time.Duration

	db    *sql.DB
	queue *goqite.Queue
}

func main() {
	var b bench
	flag.StringVar(&b.mode, "mode", "send", "send, work or latency")
	flag.StringVar(&b.dir, "dir", os.TempDir(), "folder of the database; its disk decides")
	flag.StringVar(&b.sync, "sync", "FULL", "synchronous: NORMAL or FULL")
	flag.StringVar(&b.schema, "schema", "", "schema_sqlite.sql in the folder of goqite's module")
	flag.IntVar(&b.callers, "callers", 32, "send: goroutines beside a single one")
	flag.IntVar(&b.many, "many", 1000, "send: messages of one transaction")
	flag.DurationVar(&b.length, "for", 2*time.Second, "send: length of each measurement")
	flag.IntVar(&b.jobs, "jobs", 20_000, "work: stored no-op jobs")
	flag.IntVar(&b.slots, "slots", 10, "work, latency: jobs that may run at the same time")
	flag.DurationVar(&b.limit, "limit", 15*time.Second, "work: longest measurement; the rate is "+
		"that of the jobs deleted until then")
	flag.IntVar(&b.submits, "submits", 500, "latency: jobs, one every 13 ms")
	flag.DurationVar(&b.poll, "poll", time.Millisecond, "work, latency: PollInterval")
	measure.Main(func() error { return b.run(context.Background()) })
}

func (b *bench) run(ctx context.Context) (err error) {
	schema, err := os.ReadFile(b.schema)
	if err != nil {
		return fmt.Errorf("-schema: %w; go list -m -f '{{.Dir}}' maragu.dev/goqite shows the "+
			"folder", err)
	}
	db, done, err := measure.OpenSQLite(b.dir, b.sync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if _, err := db.ExecContext(ctx, string(schema)); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	b.db = db
	b.queue = goqite.New(goqite.NewOpts{DB: db, Name: "bench", Timeout: time.Minute})
	switch b.mode {
	case "send":
		return b.send(ctx)
	case "work":
		return b.work(ctx)
	case "latency":
		return b.latency(ctx)
	}
	return fmt.Errorf("-mode: %q; use send, work or latency", b.mode)
}

func (b *bench) named(format string, words ...any) string {
	return "goqite " + b.sync + ", " + fmt.Sprintf(format, words...)
}

// inTx calls f in a transaction.
func (b *bench) inTx(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
