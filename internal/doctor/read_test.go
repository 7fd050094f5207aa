package doctor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/doctor"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// moving is a database in which something happens between two looks at what is due.
type moving struct {
	doctor.Database
	looks   int
	between func()
}

func (m *moving) Due(ctx context.Context, cs []store.Cursor) ([][]store.Due, task.Time, error) {
	if m.looks++; m.looks == 2 {
		m.between()
	}
	return m.Database.Due(ctx, cs)
}

// TestReadLooksTwice: what was claimed between the two looks has moved, what was not has not, and
// where nothing is late there is no second look.
func TestReadLooksTwice(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.lead()
		m := &moving{Database: w.Database, between: func() {}}
		opts := doctor.Options{Pause: time.Millisecond}
		w.add("work", time.Second)
		_, err := doctor.Read(t.Context(), m, opts)
		must(t, err)
		if m.looks != 2 { // the other one is for retries
			t.Errorf("%d looks where nothing is late", m.looks)
		}
		a, b := w.add("work", 10*time.Minute), w.add("work", 10*time.Minute)
		m.looks, m.between = 0, func() { w.start(a, w.epoch) }
		f, err := doctor.Read(t.Context(), m, opts)
		must(t, err)
		var moved []task.ID
		for _, q := range f.Waiting {
			for id := range q.Moved {
				moved = append(moved, id)
			}
		}
		if !slices.Equal(moved, []task.ID{a.ID}) || m.looks != 3 {
			t.Errorf("moved %v in %d looks, want %s and not %s", moved, m.looks, a.ID, b.ID)
		}
	})
}

// broken is a database of which some reads fail, and one without any optional ability.
type broken struct{ doctor.Database }

var errBroken = errors.New("broken")

func (broken) Jobs(context.Context, task.Time) ([]task.Job, error) { return nil, errBroken }

// TestReadGoesOn: what cannot be read is told, and the rest is read; only a database that does not
// answer at all is an error.
func TestReadGoesOn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.lead()
		w.bury(w.add("work", time.Second))
		f, err := doctor.Read(t.Context(), broken{w.Database}, doctor.Options{})
		must(t, err)
		got := codesOf(doctor.Examine(f))
		if want := []string{"!database.unread", "task.dead"}; !slices.Equal(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
		if len(f.Unread) != 1 || !errors.Is(f.Unread[0], errBroken) {
			t.Errorf("unread: %v", f.Unread)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := doctor.Read(ctx, w.Database, doctor.Options{}); !errors.Is(err,
			context.Canceled) {
			t.Errorf("a canceled context gave %v", err)
		}
	})
}

// TestReadIsBounded: of more tasks than one page the report says that there are more.
func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.lead()
		var rows []task.Task
		for range 1500 {
			x := task.Task{ID: newID(), Kind: "work", Group: "default", Bucket: task.Normal,
				MaxRetries: -1, FireTime: task.StoreNow}
			x.State, x.Run, x.RunAt = task.Scheduled, 1, w.now.Add(-time.Hour)
			rows = append(rows, x)
		}
		_, err := w.Insert(t.Context(), store.Fence{}, rows)
		must(t, err)
		r := w.examine()
		if got := codesOf(r); !slices.Equal(got, []string{"!backlog.stuck"}) ||
			r.Findings[0].Count != 1000 {
			t.Errorf("found %+v", r.Findings)
		}
		if !slices.ContainsFunc(r.Capped, func(s string) bool {
			return strings.Contains(s, "only 1000 due tasks of group default")
		}) {
			t.Errorf("capped: %q", r.Capped)
		}
	})
}
