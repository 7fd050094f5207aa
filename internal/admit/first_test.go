package admit

import (
	"slices"
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

// TestFirst: what a person asked for starts before CRITICAL and before what is overdue, within the
// limit of its kind, and it costs no bucket its turn.
func TestFirst(t *testing.T) {
	fill := func(first bool) (*Queue, []task.ID) {
		q := &Queue{}
		var others []task.ID
		for i := range 60 {
			b := task.Buckets()[i%4]
			it := Item{ID: task.ID{1, byte(i)}, RunAt: task.Time(1 + i), Kind: "k", Bucket: b}
			q.Push(it)
			if first && i%20 == 0 {
				q.Push(Item{ID: task.ID{2, byte(i)}, RunAt: 1000, Kind: "k", Bucket: First})
			}
		}
		now := task.Time(1).Add(24 * time.Hour) // all are overdue
		for _, it := range q.Pop(100, now, func(string) bool { return true }) {
			others = append(others, it.ID)
		}
		return q, others
	}
	_, plain := fill(false)
	q, with := fill(true)
	want := append([]task.ID{{2, 0}, {2, 20}, {2, 40}}, plain...)
	if !slices.Equal(with, want) || q.Len() != 0 {
		t.Errorf("order %v\nwant  %v", with, want)
	}
	q.Push(Item{ID: task.ID{1}, Kind: "full", Bucket: First})
	q.Push(Item{ID: task.ID{2}, Kind: "free", Bucket: task.Low})
	got := q.Pop(2, 1, func(kind string) bool { return kind == "free" })
	if len(got) != 1 || got[0].Kind != "free" {
		t.Errorf("with a full kind: %v", got)
	}
}
