package admit

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

// TestRefusedKindPaysNothing: a kind at its limit must not cost its bucket the share of the other
// kinds in it (I16).
func TestRefusedKindPaysNothing(t *testing.T) {
	var q Queue
	now := task.Time(1_000_000_000)
	for i := range 2000 {
		at := now - 1_000_000 + task.Time(i)
		q.Push(Item{RunAt: at - 1, Kind: "full", Bucket: task.High})
		q.Push(Item{RunAt: at, Kind: "free", Bucket: task.High})
		q.Push(Item{RunAt: at, Kind: "free", Bucket: task.Normal})
	}
	got := map[task.Bucket]int{}
	for range 1000 {
		for _, it := range q.Pop(1, now, func(kind string) bool { return kind != "full" }) {
			got[it.Bucket]++
		}
	}
	if n := got[task.High]; n < 580 || n > 620 {
		t.Fatalf("HIGH got %d of 1,000, NORMAL %d; want 600 and 400", n, got[task.Normal])
	}
}

// TestI15RefusalsKeepTheTurn: attempts that got no slot must not use up the turn of overdue tasks.
func TestI15RefusalsKeepTheTurn(t *testing.T) {
	var q Queue
	now := task.Time(1_000_000_000_000)
	old := now - task.Time((200 * time.Second).Microseconds())
	for range 1000 {
		q.Push(Item{RunAt: now, Kind: "x", Bucket: task.High})
	}
	q.Push(Item{RunAt: now, Kind: "full", Bucket: task.Normal})
	q.Push(Item{RunAt: old, Kind: "x", Bucket: task.Low})
	q.Pop(10, now, func(string) bool { return false }) // no slot at first
	for starts := 1; ; starts++ {
		free := true // one slot of kind x becomes free at a time
		its := q.Pop(10, now, func(k string) bool {
			f := free && k == "x"
			free = free && !f
			return f
		})
		if len(its) == 1 && its[0].Bucket == task.Low {
			break
		}
		if starts > 4 {
			t.Fatal("five slots were given, none to the task that is overdue by 80 s")
		}
	}
}

// TestOverdueAtMostEverySecond: a refusal in between must not give two slots in a row to overdue
// tasks while others wait.
func TestOverdueAtMostEverySecond(t *testing.T) {
	var q Queue
	now := task.Time(1_000_000_000_000)
	old := now - task.Time((200 * time.Second).Microseconds())
	for range 100 {
		q.Push(Item{RunAt: now, Kind: "young", Bucket: task.High})
		q.Push(Item{RunAt: old, Kind: "old", Bucket: task.Low})
	}
	q.Push(Item{RunAt: now - 1, Kind: "full", Bucket: task.High})
	last, row := task.Bucket(0), 0
	for range 40 {
		for _, it := range q.Pop(1, now, func(k string) bool { return k != "full" }) {
			if it.Bucket == task.Low && last == task.Low {
				row++
			}
			last = it.Bucket
		}
	}
	if row > 10 { // by weight LOW has a quarter of the other twenty, each beside two of these
		t.Fatalf("LOW had two slots in a row %d times in 40", row)
	}
}
