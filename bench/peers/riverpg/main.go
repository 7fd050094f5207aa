// Command riverpg measures River on PostgreSQL.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/ax-sched/ax/bench/peers/measure"
	"github.com/ax-sched/ax/bench/peers/riverload"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// dsnEnv keeps the password out of the list of processes.
const dsnEnv = "BENCH_DSN"

func main() {
	o := riverload.Flags()
	dsn := flag.String("dsn", os.Getenv(dsnEnv), "URL of an empty database (default $"+dsnEnv+")")
	measure.Main(func() error { return run(context.Background(), *dsn, o) })
}

func run(ctx context.Context, dsn string, o *riverload.Options) error {
	if dsn == "" {
		return fmt.Errorf("no database: set -dsn or $%s to postgres://USER@HOST:5432/NAME", dsnEnv)
	}
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return err
	}
	cfg.MaxConns = 40 // one for each of 32 callers, and River's own
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	d := riverpgxv5.New(pool)
	m, err := rivermigrate.New(d, nil)
	if err != nil {
		return err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return riverload.Run(ctx, o, "River on PostgreSQL", d)
}
