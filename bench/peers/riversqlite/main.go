// Command riversqlite measures River on SQLite, with the driver that ax builds on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/ax-sched/ax/bench/peers/measure"
	"github.com/ax-sched/ax/bench/peers/riverload"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

func main() {
	o := riverload.Flags()
	dir := flag.String("dir", os.TempDir(), "folder of the database; its disk decides the figures")
	sync := flag.String("sync", "FULL", "synchronous: NORMAL or FULL")
	measure.Main(func() error { return run(context.Background(), *dir, *sync, o) })
}

func run(ctx context.Context, dir, sync string, o *riverload.Options) (err error) {
	db, done, err := measure.OpenSQLite(dir, sync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	d := riversqlite.New(db)
	m, err := rivermigrate.New(d, nil)
	if err != nil {
		return err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return riverload.Run(ctx, o, "River on SQLite "+sync, d)
}
