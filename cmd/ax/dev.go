package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ax-sched/ax/internal/demo"
	"github.com/ax-sched/ax/internal/group"

	"github.com/ax-sched/ax/internal/show"
)

type devCmd struct {
	DB     string        `name:"db" placeholder:"DSN" help:"${dev_db}"`
	Listen string        `placeholder:"ADDR" help:"Serve /healthz here, say 127.0.0.1:8080."`
	For    time.Duration `placeholder:"DURATION" help:"Stop by itself after this time, at least 1s."`
	JSON   bool          `help:"Print no events, only the summary, as JSON."`
}

// Help shows an example.
func (devCmd) Help() string {
	return `A shop with twelve orders, each closed by a time-out unless it is paid; a reconciliation
every two seconds that takes three and never overlaps; a task that fails twice, one that dies, a
cron job. At the end a summary; exit status 0 if everything that was due ran.

Example: ax dev --for 20s

JSON: ok, duration_ms, database, sample_task, tasks {STATE: n}, orders {placed, paid, closed},
reconcile and report {fires, ran, skipped}, starts {count, p50_ms, p99_ms, early}, not_run[].`
}

// Run plays the demo and prints the summary.
func (c *devCmd) Run(a *app) (err error) {
	if c.For != 0 && c.For < time.Second {
		return usage("--for is %s; use 1s or more", c.For)
	}
	var db database
	if c.DB != "" {
		if db, err = parseDSN(c.DB); err != nil {
			return err
		}
	}
	health := group.New(a.ctx, "health")
	defer func() { err = errors.Join(err, health.Stop(0)) }()
	if c.Listen != "" {
		l, err := net.Listen("tcp", c.Listen)
		if err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
		health.Go("http", func(ctx context.Context) error { return serveHealth(ctx, l) })
	}
	dir, err := os.MkdirTemp("", "ax-dev-")
	if err != nil {
		return fmt.Errorf("temporary folder: %w", err)
	}
	if c.DB == "" {
		db.path = filepath.Join(dir, "ax.db")
	}
	st, err := db.open(a.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := checkOwner(a.ctx, st, 0); err != nil {
		return err
	}
	cfg := demo.Config{Store: st, Database: db.String(), Orders: filepath.Join(dir, "orders.db"),
		For: c.For, Out: a.out, Errors: a.err}
	if c.JSON {
		cfg.Out = io.Discard
	}
	s, err := demo.Run(a.ctx, cfg)
	switch {
	case err != nil:
		return err
	case c.JSON:
		err = show.JSON(a.out, s)
	default:
		err = s.Print(a.out, program())
	}
	return errors.Join(err, s.Err())
}

// program is how this program was called; `go run` leaves nothing to call again.
func program() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/ax"
	}
	return os.Args[0]
}

// serveHealth answers /healthz until ctx ends.
func serveHealth(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ok\n") // the client may have gone
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	unused := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer unused()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve /healthz: %w", err)
	}
	return ctx.Err()
}
