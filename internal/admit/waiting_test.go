package admit

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

// TestWaiting: what is pushed and not popped is counted where it waits, and the oldest of it is
// found in any bucket and kind.
func TestWaiting(t *testing.T) {
	var q Queue
	if n, oldest := q.Waiting(); n != [lanes]int{} || oldest != 0 {
		t.Errorf("an empty queue: %v, oldest %d", n, oldest)
	}
	fill(&q, 3, task.Normal, "a", ago(time.Minute))
	fill(&q, 2, task.Normal, "b", ago(time.Hour))
	fill(&q, 4, task.Low, "a", ago(time.Second))
	n, oldest := q.Waiting()
	if want := [lanes]int{task.Normal: 5, task.Low: 4}; n != want || oldest != ago(time.Hour) {
		t.Errorf("%v, oldest %d; want %v, %d", n, oldest, want, ago(time.Hour))
	}
	for _, kind := range []string{"b", "a"} {
		q.Pop(100, now, func(k string) bool { return k == kind })
		n, oldest = q.Waiting()
		if kind == "b" && (n != [lanes]int{task.Normal: 3, task.Low: 4} ||
			oldest != ago(time.Minute)) {
			t.Errorf("without b: %v, oldest %d", n, oldest)
		}
	}
	if n != [lanes]int{} || oldest != 0 {
		t.Errorf("all taken: %v, oldest %d", n, oldest)
	}
}
