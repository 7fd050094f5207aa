package main

import (
	"fmt"
	"time"
)

// setting is how River fetches jobs.
type setting struct {
	workers        int
	cooldown, poll time.Duration
}

func (s setting) String() string {
	return fmt.Sprintf("%d workers, %v/%v", s.workers, s.cooldown, s.poll)
}

// riverDefaults work about as many jobs a second as it has workers, ten times.
var riverDefaults = setting{100, 100 * time.Millisecond, time.Second}

// riverTuned are settings of which one is the fastest on most machines; the first is that of
// River's own benchmark.
var riverTuned = []setting{
	{2000, 2 * time.Millisecond, 20 * time.Millisecond},
	{1000, time.Millisecond, 10 * time.Millisecond},
	{5000, 2 * time.Millisecond, 20 * time.Millisecond},
	{10_000, 5 * time.Millisecond, 20 * time.Millisecond},
}

// riverQuick has the shortest intervals that River takes without a query each millisecond.
var riverQuick = setting{2000, time.Millisecond, 5 * time.Millisecond}

// On SQLite, with one connection, more workers and queries only get in the way.
var (
	riverLite      = setting{500, 5 * time.Millisecond, 20 * time.Millisecond}
	riverLiteQuick = setting{500, time.Millisecond, 5 * time.Millisecond}
)

func riverName(mode string, s setting) string { return "River " + mode + ", " + s.String() }

// riverPG is a step of River on PostgreSQL.
func riverPG(mode string, s setting, args ...string) step {
	return step{name: riverName(mode, s), program: "riverpg", postgres: true,
		args: riverArgs(mode, s, args)}
}

// riverSQLite is a step of River on SQLite with the given synchronous setting.
func riverSQLite(sync, mode string, s setting, args ...string) step {
	args = append(args, "-sync", sync, "-dir", "{dir}")
	return step{name: sync + " " + riverName(mode, s), program: "riversqlite",
		args: riverArgs(mode, s, args)}
}

func riverArgs(mode string, s setting, more []string) []string {
	args := []string{"-mode", mode, "-workers", fmt.Sprint(s.workers),
		"-cooldown", s.cooldown.String(), "-poll", s.poll.String()}
	return append(args, more...)
}
