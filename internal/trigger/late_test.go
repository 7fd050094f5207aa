package trigger_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/internal/trigger"
	"github.com/ax-sched/ax/task"
)

type look struct {
	at       time.Duration
	earliest task.Time
}

// lateLooks runs a Late in a bubble and returns when it looked for what.
func lateLooks(t *testing.T, expect func(l *trigger.Late)) (looks []look) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := trigger.NewLate(func(at task.Time) { looks = append(looks, look{time.Since(began), at}) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		synctest.Wait()
		expect(l)
		time.Sleep(time.Minute)
		cancel()
		<-done
	})
	return looks
}

// One expected task is looked for at once, then less and less often, and no more after a poll.
func TestLateLooksAgain(t *testing.T) {
	looks := lateLooks(t, func(l *trigger.Late) { l.Expect(700) })
	if len(looks) < 5 || looks[0].at > 10*time.Millisecond {
		t.Fatalf("looks: %v", looks)
	}
	for i, k := range looks {
		if k.earliest != 700 {
			t.Errorf("look %d is for %d", i, k.earliest)
		}
		if i > 0 && k.at > 3*looks[i-1].at {
			t.Errorf("look %d at %s, the one before at %s", i, k.at, looks[i-1].at)
		}
	}
	if last := looks[len(looks)-1].at; last < 2*time.Second || last > 3*time.Second {
		t.Errorf("the last look is at %s; want one just over a poll of 2 s", last)
	}
}

// A stream of transactions is looked for from the earliest of its tasks, a bounded number of times
// a second, until the last of them has had its time.
func TestLateStream(t *testing.T) {
	looks := lateLooks(t, func(l *trigger.Late) {
		for i := range 1000 {
			l.Expect(task.Time(2000 - i))
			time.Sleep(time.Millisecond)
		}
	})
	if n := len(looks); n < 20 || n > 70 {
		t.Errorf("%d looks", n)
	}
	last := looks[len(looks)-1]
	if last.earliest != 1001 || last.at < 3*time.Second || last.at > 4*time.Second {
		t.Errorf("last look %v", last)
	}
}

func TestLateExpectsNothing(t *testing.T) {
	if looks := lateLooks(t, func(*trigger.Late) {}); len(looks) != 0 {
		t.Errorf("looks: %v", looks)
	}
}
