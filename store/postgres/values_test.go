package postgres_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres"
	"github.com/ax-sched/ax/task"
)

// S01: times are integers, so neither the session's zone nor a change of the clocks moves them.
func TestS01TimesInAZoneWithSummerTime(t *testing.T) {
	dsn := testdb.Postgres(t)
	london := openStore(t, dsn+"&timezone=Europe/London")
	utc := openStore(t, dsn+"&timezone=UTC")
	var want []task.Time
	for _, text := range []string{"2026-03-29T01:00:10.084657Z", "2026-10-25T00:30:00Z",
		"2026-10-25T01:30:00Z", "1970-01-01T00:00:00.000001Z", "9999-12-31T23:59:59.999999Z"} {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		tk := plainTask()
		tk.RunAt = task.FromGo(at)
		want = append(want, tk.RunAt)
		stored(t, london, []task.Task{tk})
	}
	slices.Sort(want)
	for _, s := range []*postgres.Store{london, utc} {
		pages, _, err := s.Due(t.Context(), []store.Cursor{{Group: "default", Bucket: task.Normal,
			Until: task.MaxTime}})
		if err != nil {
			t.Fatal(err)
		}
		var got []task.Time
		for _, d := range pages[0] {
			got = append(got, d.RunAt)
		}
		if !slices.Equal(got, want) {
			t.Errorf("due at %d, want %d", got, want)
		}
	}
	a, errA := london.Now(t.Context())
	b, errB := utc.Now(t.Context())
	if errA != nil || errB != nil || b < a || b.Sub(a) > time.Minute {
		t.Errorf("store times %d and %d, %v %v", a, b, errA, errB)
	}
}

// S11: no content keeps a task from being finished.
func TestS11AnyContentCanBeStored(t *testing.T) {
	s := openStore(t, testdb.Postgres(t))
	for name, content := range map[string]string{
		"NUL": "a\x00b", "escaped NUL": `"\u0000"`, "lone surrogate": `"\ud800"`,
		"not UTF-8": "\xff\xfe", "1 MB of NUL": strings.Repeat("\x00", 1<<20),
	} {
		tk := plainTask()
		tk.Payload = []byte(content)
		tk.Labels = map[string]string{"content": "a\x00b"}
		tk = stored(t, s, []task.Task{tk})[0]
		tr := task.Begin(&tk).Then(task.ClaimLocal, 0, "").Then(task.Fail, 0, content).
			Then(task.Bury, task.Permanent, content)
		tr.Set.Error, tr.Set.Result = content, []byte(content)
		rs, err := s.Apply(t.Context(), store.Fence{}, []*task.Transition{tr})
		if err != nil || rs[0].Status != store.Applied {
			t.Errorf("%s: %v, %v", name, rs, err)
			continue
		}
		got, err := s.Tasks(t.Context(), []task.ID{tk.ID})
		if err != nil || len(got) != 1 {
			t.Fatal(err)
		}
		g := got[0]
		if !bytes.Equal(g.Payload, tk.Payload) || !bytes.Equal(g.Result, []byte(content)) ||
			g.State != task.Dead || g.Labels["content"] != "a\x00b" {
			t.Errorf("%s: payload, result, labels or state changed", name)
		}
		if g.Error == "" || !utf8.ValidString(g.Error) || strings.ContainsRune(g.Error, 0) {
			t.Errorf("%s: error text %.40q", name, g.Error)
		}
		h, err := s.History(t.Context(), tk.ID)
		if err != nil || len(h) != 4 || h[3].Detail != g.Error {
			t.Errorf("%s: %d entries, %v", name, len(h), err)
		}
	}
}

// A name that PostgreSQL cannot hold is refused before it fails the flush of others.
func TestBadNamesAreRefusedByField(t *testing.T) {
	s := openStore(t, testdb.Postgres(t))
	tk := plainTask()
	tk.Key = "a\x00b"
	_, err := s.Insert(t.Context(), store.Fence{}, []task.Task{plainTask(), tk})
	var bad *task.InputError
	if !errors.As(err, &bad) || bad.Field != "key" {
		t.Errorf("got %v", err)
	}
	if n, err := s.Count(t.Context(), 0); err != nil || len(n) != 0 {
		t.Errorf("%v tasks, %v", n, err)
	}
}

func TestHints(t *testing.T) {
	dsn := testdb.Postgres(t)
	here, there := openStore(t, dsn), openStore(t, dsn)
	hints := make(chan task.Time, 100)
	ended := make(chan error, 1)
	go func() { ended <- there.Listen(t.Context(), func(at task.Time) { hints <- at }) }()
	// Nobody says when the session listens; so insert until a hint comes.
	var want []task.Time
	for heard := false; !heard; {
		late, soon := plainTask(), plainTask()
		late.RunIn, soon.RunIn = time.Hour, time.Second
		want = append(want, stored(t, here, []task.Task{late, soon})[1].RunAt)
		select {
		case at := <-hints:
			heard = true
			if !slices.Contains(want, at) {
				t.Errorf("hint %d is none of %d", at, want)
			}
		case <-time.After(50 * time.Millisecond):
		case err := <-ended:
			t.Fatal(err)
		}
	}
	if err := there.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, store.ErrClosed) {
		t.Errorf("Listen ended with %v", err)
	}
}
