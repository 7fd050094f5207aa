package admit

import (
	"slices"
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
	"pgregory.net/rapid"
)

// model is the queue in the plainest form: one list in the order of arrival.
type model struct{ waiting []Item }

// first is the task of the kind and bucket that came first.
func (m *model) first(b task.Bucket, kind string) (Item, bool) {
	for _, it := range m.waiting {
		if it.Bucket == b && it.Kind == kind {
			return it, true
		}
	}
	return Item{}, false
}

func (m *model) remove(it Item) {
	i := slices.Index(m.waiting, it)
	m.waiting = slices.Delete(m.waiting, i, i+1)
}

// startable reports whether a task of the bucket could start while the kinds are refused.
func (m *model) startable(b task.Bucket, refused []string) bool {
	return slices.ContainsFunc(m.waiting, func(it Item) bool {
		return it.Bucket == b && !slices.Contains(refused, it.Kind)
	})
}

// TestModel: whatever is pushed and whatever is refused, each task comes out once, first in first
// out in its kind, and only what was refused stays behind.
func TestModel(t *testing.T) {
	kinds := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		var m model
		at, serial := now, 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					serial++
					it := Item{ID: task.ID{byte(serial), byte(serial >> 8)},
						Kind:   rapid.SampledFrom(kinds).Draw(t, "kind"),
						Bucket: rapid.SampledFrom(task.Buckets()).Draw(t, "bucket"),
						RunAt:  at.Add(-time.Duration(rapid.IntRange(0, 200).Draw(t, "age")) * time.Second)}
					q.Push(it)
					m.waiting = append(m.waiting, it)
				}
			},
			"wait": func(t *rapid.T) { at = at.Add(time.Minute) },
			"pop":  func(t *rapid.T) { pop(t, &q, &m, at) },
			"": func(t *rapid.T) {
				if q.Len() != len(m.waiting) {
					t.Fatalf("%d wait, want %d", q.Len(), len(m.waiting))
				}
			},
		})
	})
}

// pop takes some tasks with a limit for each kind and compares.
func pop(t *rapid.T, q *Queue, m *model, at task.Time) {
	n := rapid.IntRange(0, 60).Draw(t, "slots")
	left := map[string]int{}
	for _, k := range []string{"a", "b", "c", "d"} {
		left[k] = rapid.IntRange(0, 10).Draw(t, "left of "+k)
	}
	var refused []string
	var given []string
	got := q.Pop(n, at, func(kind string) bool {
		if left[kind] == 0 {
			if slices.Contains(refused, kind) {
				t.Fatalf("%s was asked for again after it was refused", kind)
			}
			refused = append(refused, kind)
			return false
		}
		left[kind]--
		given = append(given, kind)
		return true
	})
	if len(got) != len(given) || len(got) > n {
		t.Fatalf("%d came out of %d slots, %d were given", len(got), n, len(given))
	}
	for i, it := range got {
		if first, ok := m.first(it.Bucket, it.Kind); !ok || first != it || given[i] != it.Kind {
			t.Fatalf("%v came out, first in its kind is %v", it, first)
		}
		m.remove(it)
	}
	for _, b := range task.Buckets() {
		if len(got) < n && m.startable(b, refused) {
			t.Fatalf("%d slots, %d used, %s could have started some; refused %v", n, len(got), b,
				refused)
		}
	}
}
