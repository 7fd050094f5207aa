package batch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/internal/batch"
)

// recorder is a batch function that takes a second and remembers its batches.
type recorder struct {
	mu      sync.Mutex
	batches [][]int
	ends    []error // the state of each batch's context at its end
	err     error
}

func (r *recorder) run(ctx context.Context, items []int) error {
	time.Sleep(time.Second) // of the bubble
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = append(r.batches, items)
	r.ends = append(r.ends, ctx.Err())
	return r.err
}

func (r *recorder) shape() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var s strings.Builder
	for _, b := range r.batches {
		s.WriteString(fmt.Sprint(b))
	}
	return s.String()
}

// do starts calls one after another, each after the one before has arrived.
func do(ctx context.Context, g *batch.Group[int], errs *sync.Map, items ...int) {
	for _, i := range items {
		go func() { errs.Store(i, fmt.Sprint(g.Do(ctx, i))) }()
		synctest.Wait()
	}
}

func TestWhatWaitsGoesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		g := &batch.Group[int]{Run: r.run, Limit: 3}
		start := time.Now()
		do(t.Context(), g, new(sync.Map), 1, 2, 3, 4, 5, 6)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got, want := r.shape(), "[1][2 3 4][5 6]"; got != want {
			t.Errorf("batches %s, want %s", got, want)
		}
		if err := g.Do(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 11*time.Second {
			t.Errorf("a lone caller waited: the end came after %v", d)
		}
	})
}

func TestWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		g := &batch.Group[int]{Run: r.run, Limit: 10, Weight: func(i int) int { return i }}
		do(t.Context(), g, new(sync.Map), 1, 4, 5, 2, 50, 3, 7)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got, want := r.shape(), "[1][4 5][2][50][3 7]"; got != want {
			t.Errorf("batches %s, want %s", got, want)
		}
	})
}

func TestErrorReachesEveryCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{err: errors.New("disk")}
		g := &batch.Group[int]{Run: r.run}
		var errs sync.Map
		do(t.Context(), g, &errs, 1, 2, 3)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		for i := 1; i <= 3; i++ {
			if e, _ := errs.Load(i); e != "disk" {
				t.Errorf("caller %d got %v", i, e)
			}
		}
	})
}

func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		g := &batch.Group[int]{Run: r.run}
		var errs sync.Map
		gone, cancel := context.WithCancel(t.Context())
		do(t.Context(), g, &errs, 1)
		do(gone, g, &errs, 2) // would be the next flusher
		do(t.Context(), g, &errs, 3)
		cancel()
		synctest.Wait()
		if e, _ := errs.Load(2); e != context.Canceled.Error() {
			t.Errorf("the caller that left got %v", e)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got, want := r.shape(), "[1][3]"; got != want {
			t.Errorf("batches %s, want %s", got, want)
		}
	})
}

func TestBatchOutlivesItsFlusher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		g := &batch.Group[int]{Run: r.run}
		var errs sync.Map
		gone, cancel := context.WithCancel(t.Context())
		do(t.Context(), g, &errs, 1)
		do(gone, g, &errs, 2, 3)
		do(t.Context(), g, &errs, 4)
		time.Sleep(1500 * time.Millisecond) // 2, 3 and 4 are under way, flushed by 2
		cancel()
		synctest.Wait()
		if e, _ := errs.Load(3); e != context.Canceled.Error() {
			t.Errorf("a waiting caller stayed: %v", e)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if e, _ := errs.Load(4); e != "<nil>" {
			t.Errorf("caller 4 got %v", e)
		}
		if r.ends[1] != nil {
			t.Errorf("the batch's context ended with one of its callers: %v", r.ends[1])
		}
	})
}

func TestBatchEndsWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		g := &batch.Group[int]{Run: r.run}
		gone, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		do(gone, g, new(sync.Map), 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !errors.Is(r.ends[0], context.Canceled) {
			t.Errorf("nobody waits, and the batch's context goes on: %v", r.ends[0])
		}
		if err := g.Do(gone, 2); !errors.Is(err, context.DeadlineExceeded) || len(r.batches) != 1 {
			t.Errorf("a call with an ended context ran: %v", err)
		}
	})
}

func TestPanicStrandsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		g := &batch.Group[int]{Run: func(context.Context, []int) error {
			time.Sleep(time.Second)
			if calls++; calls == 2 {
				panic("boom")
			}
			return nil
		}}
		var errs sync.Map
		do(t.Context(), g, &errs, 1)
		go func() {
			defer func() { errs.Store(2, fmt.Sprint(recover())) }()
			_ = g.Do(t.Context(), 2)
		}()
		synctest.Wait()
		do(t.Context(), g, &errs, 3)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if e, _ := errs.Load(2); e != "boom" {
			t.Errorf("the flusher got %v", e)
		}
		if e, _ := errs.Load(3); e == nil || e == "<nil>" {
			t.Errorf("the other caller got %v", e)
		}
		if err := g.Do(t.Context(), 4); err != nil {
			t.Errorf("the group is dead: %v", err)
		}
	})
}

// TestManyCallers lets callers come and leave at random moments: each that got no error was run
// exactly once, and never two batches at a time.
func TestManyCallers(t *testing.T) {
	var running, most atomic.Int32
	var ran [2000]atomic.Int32
	g := &batch.Group[int]{Limit: 50, Run: func(_ context.Context, items []int) error {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		for _, i := range items {
			ran[i].Add(1)
		}
		return nil
	}}
	var wg sync.WaitGroup
	for i := range ran {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if i%3 == 0 {
				go cancel()
			}
			defer cancel()
			if err := g.Do(ctx, i); err == nil && ran[i].Load() != 1 {
				t.Errorf("item %d ran %d times", i, ran[i].Load())
			}
		})
	}
	wg.Wait()
	for i := range ran {
		if ran[i].Load() > 1 {
			t.Errorf("item %d ran %d times", i, ran[i].Load())
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d batches at a time", most.Load())
	}
}

func BenchmarkDo(b *testing.B) {
	g := &batch.Group[int]{Run: func(context.Context, []int) error { return nil }}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := g.Do(ctx, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := g.Do(ctx, 1); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
