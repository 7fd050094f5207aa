package admit

import (
	"fmt"
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

// now is when the tests look at the queue.
const now = task.Time(1_800_000_000_000_000)

// ago is an instant before now.
func ago(d time.Duration) task.Time { return now.Add(-d) }

func yes(string) bool { return true }

// fill pushes n tasks of one kind that became due at the same time.
func fill(q *Queue, n int, b task.Bucket, kind string, at task.Time) {
	for i := range n {
		q.Push(Item{ID: task.ID{byte(b), byte(i), byte(i >> 8)}, Bucket: b, Kind: kind, RunAt: at})
	}
}

// picks pops n tasks one by one, as slots become free, and returns their buckets.
func picks(q *Queue, n int, take func(string) bool) []task.Bucket {
	var out []task.Bucket
	for range n {
		for _, it := range q.Pop(1, now, take) {
			out = append(out, it.Bucket)
		}
	}
	return out
}

func counts(bs []task.Bucket) map[task.Bucket]int {
	m := map[task.Bucket]int{}
	for _, b := range bs {
		m[b]++
	}
	return m
}

// TestI16Shares: over 1,000 starts each bucket is within two points of its weight, with all buckets
// and with some of them.
func TestI16Shares(t *testing.T) {
	for _, c := range []map[task.Bucket]int{
		{task.Critical: 400, task.High: 300, task.Normal: 200, task.Low: 100},
		{task.Critical: 800, task.Low: 200},
		{task.High: 600, task.Normal: 400},
		{task.Normal: 667, task.Low: 333},
		{task.Low: 1000},
	} {
		for _, batch := range []int{1, 7, 1000} {
			var q Queue
			for b := range c {
				fill(&q, 1000, b, "k", now)
			}
			got := map[task.Bucket]int{}
			for n := 0; n < 1000; n += batch {
				for _, it := range q.Pop(min(batch, 1000-n), now, yes) {
					got[it.Bucket]++
				}
			}
			for b, want := range c {
				if d := got[b] - want; d < -20 || d > 20 {
					t.Errorf("in batches of %d: %s got %d of 1,000, want %d", batch, b, got[b], want)
				}
			}
		}
	}
}

// TestI16NothingIsSavedUp: a bucket that was empty for long does not then take all slots.
func TestI16NothingIsSavedUp(t *testing.T) {
	var q Queue
	fill(&q, 2000, task.Low, "k", now)
	picks(&q, 900, yes)
	fill(&q, 100, task.High, "k", now)
	if n := counts(picks(&q, 20, yes))[task.High]; n < 14 || n > 16 {
		t.Errorf("HIGH got %d of 20 slots beside LOW, want 15", n)
	}
}

// TestI15MaxWait: with HIGH work without end, an overdue task of any bucket starts within two
// slots of its maximum wait, and not before by that rule.
func TestI15MaxWait(t *testing.T) {
	for b, wait := range map[task.Bucket]time.Duration{
		task.Normal: 30 * time.Second, task.Low: 120 * time.Second} {
		var q Queue
		fill(&q, 1000, task.High, "busy", now)
		fill(&q, 1, b, "old", ago(wait))
		if counts(picks(&q, 2, yes))[b] != 1 {
			t.Errorf("a %s task overdue since %s has not started within two slots", b, wait)
		}
	}
	var q Queue
	fill(&q, 1000, task.High, "busy", now)
	fill(&q, 100, task.Low, "young", ago(120*time.Second-time.Microsecond))
	if n := counts(picks(&q, 40, yes))[task.Low]; n != 10 {
		t.Errorf("LOW got %d of 40 slots before its maximum wait, want its weight, 10", n)
	}
}

// TestI15OldestFirst: of several overdue tasks the oldest goes first, whatever its bucket.
func TestI15OldestFirst(t *testing.T) {
	var q Queue
	fill(&q, 100, task.High, "h", ago(11*time.Second))
	fill(&q, 1, task.Normal, "n", ago(31*time.Second))
	fill(&q, 1, task.Low, "l", ago(121*time.Second))
	got := picks(&q, 3, yes)
	if got[0] != task.Low || counts(got)[task.Normal] != 1 {
		t.Errorf("started %v, want LOW first and NORMAL within three slots", got)
	}
}

// TestI15EverySecondSlot: overdue tasks take at most every second slot from the others.
func TestI15EverySecondSlot(t *testing.T) {
	var q Queue
	fill(&q, 1000, task.High, "h", now)
	fill(&q, 1000, task.Low, "l", ago(time.Hour))
	n := counts(picks(&q, 400, yes))
	// Every second slot goes by weight, of which HIGH has three quarters.
	if n[task.High] < 145 || n[task.Low] < 200 {
		t.Errorf("of 400 slots HIGH got %d and overdue LOW %d", n[task.High], n[task.Low])
	}
}

// TestI15NeverBeforeCritical: while CRITICAL work waits, being overdue changes nothing.
func TestI15NeverBeforeCritical(t *testing.T) {
	var old, young Queue
	fill(&old, 1000, task.Critical, "c", now)
	fill(&old, 1000, task.Low, "l", ago(time.Hour))
	fill(&young, 1000, task.Critical, "c", now)
	fill(&young, 1000, task.Low, "l", now)
	if a, b := picks(&old, 500, yes), picks(&young, 500, yes); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("overdue LOW changed the order: %v", counts(a))
	}
}

// TestI15CriticalAtItsLimit: a CRITICAL kind that cannot start does not hold back overdue tasks.
func TestI15CriticalAtItsLimit(t *testing.T) {
	var q Queue
	fill(&q, 10, task.Critical, "full", now)
	fill(&q, 1000, task.High, "h", now)
	fill(&q, 1, task.Low, "l", ago(time.Hour))
	notFull := func(kind string) bool { return kind != "full" }
	if got := picks(&q, 4, notFull); counts(got)[task.Low] != 1 {
		t.Errorf("started %v, the overdue task is not among them", got)
	}
}

// TestFullKindHoldsBackNobody: older tasks of a kind at its limit are passed over, not waited for,
// and keep their place.
func TestFullKindHoldsBackNobody(t *testing.T) {
	var q Queue
	fill(&q, 500, task.Normal, "full", ago(time.Second))
	fill(&q, 10, task.Normal, "free", now)
	fill(&q, 10, task.Low, "free", now)
	asked := 0
	got := q.Pop(100, now, func(kind string) bool {
		if kind == "full" {
			asked++
		}
		return kind == "free"
	})
	if len(got) != 20 || asked != 1 {
		t.Errorf("%d started, the full kind was asked %d times; want 20 and once", len(got), asked)
	}
	if q.Len() != 500 || q.lane[task.Normal].n != 500 || q.lane[task.Low].n != 0 {
		t.Errorf("%d wait, %d of them NORMAL, want 500", q.Len(), q.lane[task.Normal].n)
	}
	if next := q.Pop(1, now, yes); len(next) != 1 || next[0].ID[1] != 0 {
		t.Errorf("the kind goes on with %v, want its first task", next)
	}
}

// TestOldestKindFirst: inside a bucket kinds share by age.
func TestOldestKindFirst(t *testing.T) {
	var q Queue
	for i := range 100 {
		q.Push(Item{Bucket: task.Normal, Kind: fmt.Sprint("k", i%7), RunAt: now + task.Time(i)})
	}
	for i, it := range q.Pop(100, now, yes) {
		if it.RunAt != now+task.Time(i) {
			t.Fatalf("place %d: due at +%d", i, it.RunAt-now)
		}
	}
}

// TestMemoryIsGivenBack: after a burst the queue keeps nothing of it.
func TestMemoryIsGivenBack(t *testing.T) {
	var q Queue
	fill(&q, 100_000, task.Normal, "k", now)
	f := q.lane[task.Normal].kinds["k"]
	q.Pop(90_000, now, yes)
	if n := len(f.items); n > 20_000 {
		t.Errorf("10,000 tasks wait, %d are held", n)
	}
	q.Pop(10_000, now, yes)
	if q.Len() != 0 || cap(f.items) != 0 {
		t.Errorf("%d tasks wait, room for %d is held", q.Len(), cap(f.items))
	}
}

func TestPopOfNothing(t *testing.T) {
	var q Queue
	if its := q.Pop(10, now, yes); its != nil {
		t.Errorf("an empty queue gave %v", its)
	}
	fill(&q, 3, task.High, "k", now)
	if its := append(q.Pop(0, now, yes), q.Pop(-1, now, yes)...); its != nil {
		t.Errorf("without slots it gave %v", its)
	}
}

func BenchmarkPushPop(b *testing.B) {
	for _, kinds := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(kinds, " kinds"), func(b *testing.B) {
			var q Queue
			names := make([]string, kinds)
			for i := range names {
				names[i] = fmt.Sprint("kind", i)
			}
			push := func(i int) {
				q.Push(Item{Kind: names[i%kinds], Bucket: task.Bucket(i%4 + 1), RunAt: now})
			}
			for i := range 10_000 {
				push(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				push(i)
				q.Pop(1, now, yes)
			}
		})
	}
}
