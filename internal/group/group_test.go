package group

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var errBroken = errors.New("broken")

// until is a part that ends when it is told to.
func until(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestStopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(t.Context(), "intake")
		var ended []string
		g.Go("slow", func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(3 * time.Second)
			ended = append(ended, "slow")
			return nil
		})
		g.Go("quick", until)
		g.Spawn(func(context.Context) { time.Sleep(time.Hour) })
		begin := time.Now()
		if err := g.Stop(0); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != time.Hour || !slices.Equal(ended, []string{"slow"}) {
			t.Fatalf("Stop returned after %v, ended %v", d, ended)
		}
		if g.Go("late", until) || g.Spawn(func(context.Context) {}) {
			t.Fatal("a stopped group starts goroutines")
		}
		if err := errors.Join(g.Stop(time.Second), g.Stop(0), g.Wait()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(g *Group)
		want  []string
	}{
		{"error", func(g *Group) {
			g.Go("sweep", func(context.Context) error { return errBroken })
		}, []string{"leader: sweep: broken"}},
		{"silent end", func(g *Group) {
			g.Go("sweep", func(context.Context) error { return nil })
		}, []string{"leader: sweep: " + ErrEnded.Error()}},
		{"cancelled by someone else", func(g *Group) {
			g.Go("sweep", func(context.Context) error { return context.Canceled })
		}, []string{"leader: sweep: context canceled"}},
		{"panic", func(g *Group) {
			g.Go("sweep", func(context.Context) error { panic(errBroken) })
		}, []string{"leader: sweep: panic: broken", "group_test.go"}},
		{"panic of a short function", func(g *Group) {
			g.Spawn(func(context.Context) { panic("oops") })
		}, []string{"leader: spawned: panic: oops", "group_test.go"}},
		{"end of the goroutine", func(g *Group) {
			g.Spawn(func(context.Context) { runtime.Goexit() })
		}, []string{"leader: spawned: ", "Goexit"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := New(t.Context(), "leader")
			g.Go("healthy", until)
			if g.Err() != nil {
				t.Fatal(g.Err())
			}
			c.start(g)
			<-g.Failed()
			g.Go("second", func(context.Context) error { return errors.New("later") })
			synctest.Wait()
			err := g.Stop(time.Second)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error %v, want %q in it", c.name, err, want)
				}
			}
			if err != g.Err() || strings.Contains(err.Error(), "later") {
				t.Errorf("%s: not the first error: %v", c.name, err)
			}
		})
	}
}

// TestErrorWhileStopping: what fails on the way down is reported, a plain end is not, and a
// panic never passes for an end.
func TestErrorWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(t.Context(), "drain")
		g.Go("flush", func(ctx context.Context) error { <-ctx.Done(); return errBroken })
		if err := g.Stop(0); !errors.Is(err, errBroken) {
			t.Fatalf("Stop = %v", err)
		}
		g = New(t.Context(), "drain")
		g.Go("flush", func(ctx context.Context) error { <-ctx.Done(); panic(ctx.Err()) })
		var p *PanicError
		if err := g.Stop(0); !errors.As(err, &p) || p.Value != context.Canceled {
			t.Fatalf("Stop = %v", err)
		}
	})
}

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(t.Context(), "executor")
		release := make(chan struct{})
		g.Go("deaf", func(context.Context) error { <-release; return nil })
		g.Go("good", until)
		g.Spawn(func(context.Context) { <-release })
		begin := time.Now()
		err := g.Stop(10 * time.Second)
		var late *BudgetError
		if !errors.As(err, &late) || time.Since(begin) != 10*time.Second {
			t.Fatalf("Stop = %v after %v", err, time.Since(begin))
		}
		if late.Group != "executor" || !slices.Equal(late.Parts, []string{"deaf"}) || late.Spawns != 1 {
			t.Fatalf("still running: %+v", late)
		}
		close(release)
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := g.Stop(time.Second); err != nil {
			t.Fatal(err)
		}
	})
}

// TestContext: the context of a group carries values, and ends only by Stop.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
		g := New(ctx, "leader")
		cancel()
		g.Go("part", func(ctx context.Context) error {
			if ctx.Value(key{}) != "v" {
				return errBroken
			}
			return until(ctx)
		})
		synctest.Wait()
		if err := g.Err(); err != nil {
			t.Fatalf("the part has ended: %v", err)
		}
		if err := g.Stop(0); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRunStopsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		var stages []Stage
		for _, name := range []string{"intake", "trigger", "store"} {
			g := New(t.Context(), name)
			g.Go(name, func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Second)
				order = append(order, name)
				return nil
			})
			stages = append(stages, Stage{g, 2 * time.Second})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		if err := Run(ctx, stages...); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != 63*time.Second {
			t.Errorf("Run took %v, want a minute and 1 s a stage", d)
		}
		if !slices.Equal(order, []string{"intake", "trigger", "store"}) {
			t.Errorf("stopped in the order %v", order)
		}
	})
}

// TestRunOnFailure: the first failure stops all, and comes first and once in the error.
func TestRunOnFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		one, two := New(t.Context(), "one"), New(t.Context(), "two")
		one.Go("flush", func(ctx context.Context) error { <-ctx.Done(); return errors.New("late") })
		two.Go("deaf", func(context.Context) error { <-release; return nil })
		two.Go("sweep", func(context.Context) error { time.Sleep(time.Minute); return errBroken })
		err := Run(t.Context(), Stage{one, time.Second}, Stage{two, time.Second})
		want := "two: sweep: broken\none: flush: late\n" +
			"two: not stopped after 1s: parts [\"deaf\"] and 0 others still run"
		if err == nil || err.Error() != want {
			t.Errorf("Run = %v\nwant %s", err, want)
		}
		close(release)
		if err := two.Wait(); !errors.Is(err, errBroken) {
			t.Errorf("Wait = %v", err)
		}
	})
}

// TestRunNamesFailureOnce: a failed group that stops in time is named once.
func TestRunNamesFailureOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(t.Context(), "one")
		g.Go("sweep", func(context.Context) error { return errBroken })
		if err := Run(t.Context(), Stage{g, time.Second}); err.Error() != "one: sweep: broken" {
			t.Errorf("Run = %v", err)
		}
	})
}

// TestManySpawns: short functions from many sides, while the group stops.
func TestManySpawns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(t.Context(), "executor")
		ran := make(chan int, 10_000)
		accepted := make(chan int)
		for range 4 {
			go func() {
				n := 0
				for range 2_500 {
					if g.Spawn(func(context.Context) { ran <- 1 }) {
						n++
					}
				}
				accepted <- n
			}()
		}
		n := <-accepted
		if err := g.Stop(0); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			n += <-accepted
		}
		if len(ran) != n {
			t.Fatalf("%d functions accepted, %d ran before Stop returned", n, len(ran))
		}
	})
}

func BenchmarkSpawn(b *testing.B) {
	g := New(b.Context(), "bench")
	f := func(context.Context) {}
	b.ReportAllocs()
	for b.Loop() {
		g.Spawn(f)
	}
	if err := g.Stop(0); err != nil {
		b.Fatal(err)
	}
}
