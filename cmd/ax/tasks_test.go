package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"

	_ "modernc.org/sqlite"
)

// TestSharedFile: a file of a program that has ax in it is looked at and worked on without saying
// so; one that has not is refused, and stays without ax.
func TestSharedFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE orders (id TEXT)"); err != nil {
		t.Fatal(err)
	}
	if r := runAx(t, dir, "tasks", "list", "--db", "sqlite:shop.db"); r.code != 1 ||
		!strings.Contains(r.errs, "sqlite.Shared") {
		t.Errorf("before ax is in it: %+v", r)
	}
	var n int
	err = db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&n)
	if err != nil || n != 1 {
		t.Fatalf("%d schema entries after it was refused, %v", n, err)
	}
	st, err := sqlite.Open(path, sqlite.Shared())
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	fillDatabase(t, path)
	if r := runAx(t, dir, "tasks", "cancel", "--kind", "mail", "--reason", "closing", "--db",
		"sqlite:shop.db"); r.code != 0 || r.out != "1 of 1 tasks done\n" {
		t.Errorf("%+v", r)
	}
	var app int
	if err := db.QueryRow("PRAGMA application_id").Scan(&app); err != nil || app != 0 {
		t.Errorf("application id %#x, %v", app, err)
	}
}

// TestNoVariableActs: what chooses tasks, or says what becomes of them, comes from the command
// line alone; a variable left in a shell does nothing.
func TestNoVariableActs(t *testing.T) {
	dir := t.TempDir()
	fillDatabase(t, filepath.Join(dir, "ax.db"))
	for name, value := range map[string]string{"AX_DB": "sqlite:ax.db", "AX_JSON": "true",
		"AX_STATE": "dead", "AX_KIND": "mail", "AX_KEY": "4711", "AX_JOB": "night",
		"AX_BEFORE": "00000000-0000-7000-8000-000000000002", "AX_REASON": "variable",
		"AX_DRY_RUN": "true",
		"AX_AGAIN":   "true", "AX_SINCE": "1h", "AX_UNTIL": "1h", "AX_AS": "dead", "AX_RUN_AT": "2h"} {
		t.Setenv(name, value)
	}
	const id = "00000000-0000-7000-8000-000000000001"
	for want, args := range map[string][]string{
		"choose by --state":       {"cancel", "--reason", "r"},
		"--reason is missing":     {"cancel", id},
		"missing flags: --as":     {"resolve", id, "--reason", "r"},
		"missing flags: --run-at": {"reschedule", id, "--reason", "r"},
	} {
		r := runAx(t, dir, append([]string{"tasks"}, args...)...)
		if r.code != 2 || !strings.Contains(r.errs, want) {
			t.Errorf("%q: %+v; want %q", args, r, want)
		}
	}
	var page struct{ Items []show.Task }
	r := runAx(t, dir, "tasks", "list")
	if err := json.Unmarshal([]byte(r.out), &page); err != nil || len(page.Items) != 4 {
		t.Errorf("%v, %+v; want all four tasks in JSON", err, r)
	}
	r = runAx(t, dir, "tasks", "cancel", "--kind", "order.close", "--reason", "r")
	if r.code != 0 || !strings.Contains(r.out, `"matched":2,"done":2,"dry_run":false`) {
		t.Errorf("%+v; want two tasks canceled", r)
	}
}

// TestVerbsTakeWhatTheyCan: --state accepts the states that the act changes, and no others.
func TestVerbsTakeWhatTheyCan(t *testing.T) {
	for _, c := range []struct {
		verb verb
		act  complete.Act
	}{
		{cancelVerb, complete.CancelBy}, {retryVerb, complete.Redrive},
		{triggerVerb, complete.Trigger}, {resolveVerb, complete.Resolve(complete.Rerun)},
		{rescheduleVerb, complete.Reschedule(1)},
	} {
		for _, s := range task.States() {
			can := false
			if s.Resting() {
				row := task.Task{Mutable: task.Mutable{State: s, Run: 1}}
				tr, err := c.act(&row, complete.By{})
				can = err == nil && tr != nil
			}
			states, err := c.verb.states([]string{s.String()})
			if can && (err != nil || len(states) != 1 || states[0] != s) {
				t.Errorf("%s refuses %s: %v, %v", c.verb.name, s, states, err)
			}
			var wrong *usageError
			if !can && !errors.As(err, &wrong) {
				t.Errorf("%s takes %s, which it cannot act on", c.verb.name, s)
			}
		}
		if got, err := c.verb.states(nil); err != nil || !slices.Equal(got, c.verb.usual) {
			t.Errorf("%s without --state: %v, %v", c.verb.name, got, err)
		}
	}
}

func TestInstant(t *testing.T) {
	now := time.Date(2030, 1, 31, 22, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2h": now.Add(2 * time.Hour), "90s": now.Add(90 * time.Second),
		"2030-02-01T00:00:00+01:00": now.Add(time.Hour),
	} {
		if got, err := instant(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "banana", "0s", "-2h", "2030-02-01", "2"} {
		if got, err := instant(text, now); err == nil || !strings.Contains(err.Error(), "such as 2h") {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

// TestMissingDefault: who gave no --db is told where the name comes from.
func TestMissingDefault(t *testing.T) {
	d := database{path: filepath.Join(t.TempDir(), "ax.db")}
	if _, err := d.openExisting(t.Context()); err == nil || strings.Contains(err.Error(), "AX_DB") {
		t.Errorf("a file that was named: %v", err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	usual, err := dbFlag{}.parse()
	if err != nil || !usual.unnamed {
		t.Fatalf("%+v, %v", usual, err)
	}
	d.unnamed = true
	if _, err := d.openExisting(t.Context()); err == nil ||
		!strings.HasSuffix(err.Error(), "that is the default: give --db or AX_DB") {
		t.Errorf("the default: %v", err)
	}
}

// endedAndHeld makes a database with a task that has succeeded and one that is held.
func endedAndHeld(t *testing.T, path string) (ended, held ax.ID) {
	t.Helper()
	st, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := ax.New(st, ax.Config{Grace: time.Millisecond,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{}, 2)
	err = errors.Join(
		s.Handle("mail", func(context.Context, *ax.Task) error { begun <- struct{}{}; return nil }),
		s.Handle("charge", func(ctx context.Context, _ *ax.Task) error {
			begun <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}, ax.AtMostOnce()))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]ax.ID{}
	for _, kind := range []string{"mail", "charge"} {
		res, err := s.Submit(t.Context(), ax.NewTask{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		ids[kind] = res.ID
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	<-begun
	<-begun
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return ids["mail"], ids["charge"]
}

// TestTriggerAgain: the program runs work that is done, or may be, only if it is told so.
func TestTriggerAgain(t *testing.T) {
	dir := t.TempDir()
	ended, held := endedAndHeld(t, filepath.Join(dir, "ax.db"))
	trigger := func(args ...string) result {
		return runAx(t, dir, append([]string{"tasks", "trigger", "--db", "sqlite:ax.db", "--reason",
			"r"}, args...)...)
	}
	for _, c := range []struct {
		id   ax.ID
		want string
	}{
		{ended, "it is SUCCEEDED: it has done its work; --again does it once more"},
		{held, "it is HELD: it may have done its work: look first, then use resolve; --again"},
	} {
		if r := trigger(c.id.String()); r.code != 1 || !strings.Contains(r.errs, c.want) {
			t.Errorf("%+v; want %s", r, c.want)
		}
		if r := trigger("--again", c.id.String()); r.code != 0 ||
			!strings.Contains(r.out, "is SCHEDULED") {
			t.Errorf("with --again: %+v", r)
		}
	}
	if r := trigger("--kind", "mail"); r.out != "1 of 1 tasks done\n" {
		t.Errorf("by filter: %+v", r)
	}
}
