package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// TestReadAhead: in a backlog rows are read while the claim before theirs runs, each once.
func TestReadAhead(t *testing.T) {
	dispatcher(t, 50, time.Second, func(r *rig) {
		its := r.insert(400, "k", nil)
		r.Push(its)
		for range 8 {
			synctest.Wait()
			r.mu.Lock()
			if held := len(r.ahead.rows); held > aheadRows || held > r.queue.Len() {
				t.Errorf("%d rows are held for %d that wait", held, r.queue.Len())
			}
			r.mu.Unlock()
			time.Sleep(time.Second)
		}
		if r.runs() != len(its) {
			t.Errorf("%d ran of %d", r.runs(), len(its))
		}
		first := map[task.ID]bool{}
		for _, it := range its[:50] {
			first[it.ID] = true
		}
		for i, id := range r.ran {
			if first[id] != (i < 50) {
				t.Fatalf("task %s ran as number %d", id, i)
			}
		}
		r.store.set(func(s *faulty) {
			if s.reads > 5 { // the first claim, then what waits
				t.Errorf("%d reads for %d claims", s.reads, len(s.sizes))
			}
		})
		if len(r.ahead.rows) != 0 {
			t.Errorf("%d rows are kept of an empty queue", len(r.ahead.rows))
		}
	})
}

// TestReadAheadMoved: a row that moves after it was read is not started from what was read. It is
// looked at once more, since it may be due again.
func TestReadAheadMoved(t *testing.T) {
	dispatcher(t, 1, time.Second, func(r *rig) {
		its := r.insert(2*aheadLeast, "k", nil)
		r.Push(its)
		synctest.Wait()
		row := r.read(its[1].ID)
		moved := task.Begin(&row).Then(task.Cancel, 0, "")
		if _, err := r.store.Store.Apply(t.Context(), store.Fence{},
			[]*task.Transition{moved}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if at, ok := r.later[its[1].ID]; !ok || at != its[1].RunAt || r.settled[its[1].ID] != 0 {
			t.Errorf("later %v, settled %v; want to look again at once", r.later, r.settled)
		}
		r.Push(its[1:2]) // as the wheel does
		time.Sleep(time.Hour)
		if r.runs() != len(its)-1 || r.settled[its[1].ID] != 1 || r.local.Free() != 1 {
			t.Errorf("%d ran of %d, settled %d times", r.runs(), len(its), r.settled[its[1].ID])
		}
	})
}

// TestReadAheadStoreAway: an error of reading ahead costs nothing.
func TestReadAheadStoreAway(t *testing.T) {
	dispatcher(t, 1, time.Second, func(r *rig) {
		its := r.insert(2*aheadLeast, "k", nil)
		r.Push(its[:1])
		synctest.Wait()
		r.store.set(func(s *faulty) { s.down = true })
		r.Push(its[1:])
		time.Sleep(3 * time.Second)
		r.store.set(func(s *faulty) { s.down = false })
		time.Sleep(time.Hour)
		if r.runs() != len(its) || r.errors == 0 || len(r.ahead.rows) != 0 {
			t.Errorf("%d ran of %d, %d errors, %d rows held", r.runs(), len(its), r.errors,
				len(r.ahead.rows))
		}
	})
}

// TestReadAheadBytes: the larger the payloads, the fewer rows are held.
func TestReadAheadBytes(t *testing.T) {
	dispatcher(t, 1, time.Second, func(r *rig) {
		its := r.insert(200, "k", func(_ int, k *task.Task) { k.Payload = make([]byte, 1<<20) })
		r.Push(its)
		time.Sleep(10 * time.Second)
		r.Dispatcher.mu.Lock()
		size, ids := r.ahead.size, r.ahead.missing(&r.queue)
		r.Dispatcher.mu.Unlock()
		if size != 1<<20 || len(ids) > aheadBytes>>20+1 {
			t.Errorf("payloads of %d bytes on the average: reads %d more", size, len(ids))
		}
		time.Sleep(time.Hour)
	})
}
