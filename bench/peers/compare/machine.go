package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/ax-sched/ax/bench/peers/measure"
)

// machine says where the figures come from, a line a fact.
func machine(ctx context.Context, bin programs, dir string, s *server) ([]string, error) {
	ax, err := buildinfo.ReadFile(bin.path("ax"))
	if err != nil {
		return nil, err
	}
	peer, err := buildinfo.ReadFile(bin.path("goqiteb"))
	if err != nil {
		return nil, err
	}
	lite, err := liteVersion(ctx, dir)
	if err != nil {
		return nil, err
	}
	lines := []string{
		"date: " + time.Now().UTC().Format(time.DateOnly),
		fmt.Sprintf("CPU: %s, %d cores", cpuModel(), runtime.NumCPU()),
		fmt.Sprintf("Go: %s for ax, %s for the peers", ax.GoVersion, peer.GoVersion),
		fmt.Sprintf("SQLite: %s; modernc.org/sqlite %s in ax, %s in the peers", lite,
			version(ax, "modernc.org/sqlite"), version(peer, "modernc.org/sqlite")),
	}
	if s != nil {
		vs, err := s.show(ctx, "server_version", "fsync", "synchronous_commit", "shared_buffers",
			"max_wal_size")
		if err != nil {
			return nil, fmt.Errorf("settings of PostgreSQL: %w", err)
		}
		lines = append(lines, fmt.Sprintf("PostgreSQL: %s, fsync %s, synchronous_commit %s, "+
			"shared_buffers %s, max_wal_size %s", vs[0], vs[1], vs[2], vs[3], vs[4]))
	}
	return lines, nil
}

// version of a module that a program is built with.
func version(b *buildinfo.BuildInfo, module string) string {
	for _, d := range b.Deps {
		if d.Path == module {
			return d.Version
		}
	}
	return "none"
}

func liteVersion(ctx context.Context, dir string) (v string, err error) {
	db, done, err := measure.OpenSQLite(dir, "FULL")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, done()) }()
	return v, db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&v)
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				return strings.TrimSpace(v)
			}
		}
	}
	return runtime.GOARCH
}

// disk says how long the disk took before and after, and what that means for the figures.
func disk(before, after []measure.Figure) []string {
	var lines []string
	for i := range min(len(before), len(after)) {
		b, okB := medianIn(before[i].Detail)
		a, okA := medianIn(after[i].Detail)
		if !okB || !okA {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: p50 %.2f ms, p99 %.2f ms before; p50 %.2f ms, "+
			"p99 %.2f ms after", before[i].Name, b, before[i].Value, a, after[i].Value))
		if max(a, b) > 2*min(a, b) {
			lines = append(lines, "the disk changed by more than 2x in this run: repeat it")
		}
		if min(a, b) < 0.02 {
			lines = append(lines, "no disk is that fast: durable figures of this folder mean nothing")
		}
	}
	return lines
}
