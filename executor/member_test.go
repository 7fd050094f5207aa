package executor

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store/memory"
)

var errDown = errors.New("no connection")

// faulty is a registry that can be away.
type faulty struct {
	registry.Registry

	mu       sync.Mutex
	down     bool
	full     bool            // it renews, but registers nobody
	renewals []time.Duration // when each was tried
	since    func() time.Duration
}

func (f *faulty) away(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

func (f *faulty) refuse(full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full = full
}

func (f *faulty) Register(ctx context.Context, m registry.Member, d time.Duration) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down || f.full {
		return 0, errDown
	}
	return f.Registry.Register(ctx, m, d)
}

func (f *faulty) Renew(ctx context.Context, epoch int64, d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewals = append(f.renewals, f.since())
	if f.down {
		return errDown
	}
	return f.Registry.Renew(ctx, epoch, d)
}

// tries gives the renewals tried since the last call.
func (f *faulty) tries() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.renewals
	f.renewals = nil
	return out
}

// joined is a Member that runs in a bubble: lease 30 s, a renewal each 10 s.
type joined struct {
	*Member
	t       *testing.T
	reg     *faulty
	members func() []registry.Member
	retired int
	errors  int
}

func member(t *testing.T, f func(x *joined)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		since := func() time.Duration { return time.Since(began) }
		r := memory.New(memory.Options{}).Registry()
		x := &joined{t: t, reg: &faulty{Registry: r, since: since}}
		x.members = func() []registry.Member {
			ms, err := r.Members(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return ms
		}
		x.Member = NewMember(MemberConfig{Registry: x.reg,
			Member: registry.Member{Name: "n", Instance: "i", Group: "g", Slots: 4},
			TTL:    30 * time.Second, Every: 10 * time.Second, Since: since,
			Retired: func() { x.retired++ }, Failed: func(error) { x.errors++ }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- x.Run(ctx) }()
		f(x)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}

// want compares what the member believes.
func (x *joined) want(epoch int64, ok bool) {
	x.t.Helper()
	synctest.Wait()
	if name, e, o := x.Current(); name != "n" || e != epoch || o != ok {
		x.t.Errorf("believes %s, epoch %d, %v; want epoch %d, %v", name, e, o, epoch, ok)
	}
}

func (x *joined) register() {
	x.t.Helper()
	if err := x.Register(x.t.Context()); err != nil {
		x.t.Fatal(err)
	}
}

// TestNotRegistered: nothing is claimed and nothing renewed before Register.
func TestNotRegistered(t *testing.T) {
	member(t, func(x *joined) {
		time.Sleep(time.Minute)
		x.want(0, false)
		if len(x.members()) != 0 || len(x.reg.tries()) != 0 {
			t.Errorf("%d members, %v renewals", len(x.members()), x.reg.tries())
		}
	})
}

func TestRenewals(t *testing.T) {
	member(t, func(x *joined) {
		x.register()
		x.want(1, true)
		x.reg.tries()
		time.Sleep(time.Hour)
		x.want(1, true)
		if n := len(x.reg.tries()); n != 360 {
			t.Errorf("%d renewals in an hour, want 360", n)
		}
		ms := x.members()
		if len(ms) != 1 || ms[0].Epoch != 1 || ms[0].Group != "g" || ms[0].Slots != 4 {
			t.Errorf("members %+v", ms)
		}
		x.register() // again: the same epoch
		x.want(1, true)
		if x.retired != 0 || x.errors != 0 {
			t.Errorf("told of %d retirements and %d errors", x.retired, x.errors)
		}
	})
}

// TestRenewalIsRetried: five tries half a second apart, and again at the next turn.
func TestRenewalIsRetried(t *testing.T) {
	member(t, func(x *joined) {
		x.register()
		x.reg.tries()
		x.reg.away(true)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		got := x.reg.tries()
		if len(got) != 5 || x.errors != 5 {
			t.Fatalf("tries at %v, %d errors told; want five", got, x.errors)
		}
		for i, at := range got {
			if want := 10*time.Second + time.Duration(i)*renewPause; at != want {
				t.Errorf("try %d at %s, want %s", i, at, want)
			}
		}
		x.want(1, true) // the lease of 30 s still runs
		x.reg.away(false)
		time.Sleep(5 * time.Second)
		x.want(1, true)
		time.Sleep(25 * time.Second)
		x.want(1, true)
	})
}

// TestH11BeliefEndsAtTheDeadline: without renewals nothing may start past the lease, counted from
// when the last renewal was sent; when the registry is back the unretired epoch goes on.
func TestH11BeliefEndsAtTheDeadline(t *testing.T) {
	member(t, func(x *joined) {
		x.register()
		time.Sleep(10 * time.Second) // one renewal, sent at 10 s
		synctest.Wait()
		x.reg.away(true)
		time.Sleep(30*time.Second - time.Microsecond)
		x.want(1, true)
		time.Sleep(time.Microsecond)
		x.want(1, false)
		time.Sleep(time.Minute)
		x.want(1, false)
		x.reg.away(false)
		time.Sleep(10 * time.Second)
		x.want(1, true)
		if x.retired != 0 {
			t.Error("told that it was retired, but it was only away")
		}
	})
}

// TestSlowAnswer: belief counts from before the renewal was sent, not from its answer.
func TestSlowAnswer(t *testing.T) {
	member(t, func(x *joined) {
		x.reg.Registry = slowRegistry{x.reg.Registry, 8 * time.Second}
		x.register() // sent at 0, answered at 8 s
		x.reg.away(true)
		time.Sleep(22*time.Second - time.Microsecond)
		x.want(1, true)
		time.Sleep(time.Microsecond)
		x.want(1, false)
	})
}

type slowRegistry struct {
	registry.Registry
	d time.Duration
}

func (r slowRegistry) Register(ctx context.Context, m registry.Member, d time.Duration) (int64,
	error) {
	time.Sleep(r.d)
	return r.Registry.Register(ctx, m, d)
}

// TestRetired: the contexts of what runs are ended once, and the process comes back under a new
// epoch.
func TestRetired(t *testing.T) {
	member(t, func(x *joined) {
		x.register()
		time.Sleep(time.Second)
		if err := x.reg.Registry.Leave(x.t.Context(), 1); err != nil { // as a leader retires it
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		x.want(2, true)
		if x.retired != 1 {
			t.Errorf("told %d times that it was retired", x.retired)
		}
		if ms := x.members(); len(ms) != 1 || ms[0].Epoch != 2 {
			t.Errorf("members %+v", ms)
		}
	})
}

// TestRetiredWhileAway: retired, and the registry stays away for longer than one round of tries.
func TestRetiredWhileAway(t *testing.T) {
	member(t, func(x *joined) {
		x.register()
		if err := x.reg.Registry.Leave(x.t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		x.reg.refuse(true)
		time.Sleep(15 * time.Second)
		x.want(0, false)
		x.reg.refuse(false)
		time.Sleep(10 * time.Second)
		x.want(2, true)
		if x.retired != 1 {
			t.Errorf("told %d times that it was retired", x.retired)
		}
	})
}

// TestLinger: a process whose handlers outlive its membership keeps the lease for a while, and
// renews it no more.
func TestLinger(t *testing.T) {
	member(t, func(x *joined) {
		x.register()
		left := time.Now()
		if err := x.Leave(x.t.Context(), 10*time.Minute); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		ms := x.members()
		if len(ms) != 1 || ms[0].Until.Go().Sub(left) != 10*time.Minute {
			t.Errorf("members %+v, want one until ten minutes after %s", ms, left)
		}
	})
}

// TestLeave: the membership ends at once and is not renewed.
func TestLeave(t *testing.T) {
	member(t, func(x *joined) {
		if err := x.Leave(x.t.Context(), 0); err != nil {
			t.Errorf("leaving without a membership: %v", err)
		}
		x.register()
		if err := x.Leave(x.t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		x.want(0, false)
		time.Sleep(time.Minute)
		x.want(0, false)
		if ms := x.members(); len(ms) != 0 || x.retired != 0 {
			t.Errorf("members %+v, told %d times that it was retired", ms, x.retired)
		}
	})
}
