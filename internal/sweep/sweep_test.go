package sweep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// Times of the tests, the defaults of ax.
const (
	leaseTTL  = 30 * time.Second
	heartbeat = 10 * time.Second
	silence   = heartbeat + 2*time.Second
	sweeps    = 5 * time.Second
)

var errDown = errors.New("no connection")

// flaky is a store that can be away for everybody.
type flaky struct {
	*memory.Store
	registry.Registry

	mu      sync.Mutex
	down    bool
	partial bool   // answers to Retire are lost, and Apply does not get through
	members func() // called before members are read
}

func (f *flaky) set(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *flaky) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return errDown
	}
	return nil
}

func (f *flaky) Live(ctx context.Context, q store.LiveQuery) ([]task.Task, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	return f.Store.Live(ctx, q)
}

func (f *flaky) Members(ctx context.Context) ([]registry.Member, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	do := f.members
	f.members = nil
	f.mu.Unlock()
	if do != nil {
		do()
	}
	return f.Registry.Members(ctx)
}

func (f *flaky) isPartial() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.partial
}

func (f *flaky) Retire(ctx context.Context, epoch int64) error {
	err := f.Registry.Retire(ctx, epoch)
	if f.isPartial() {
		return errDown
	}
	return err
}

func (f *flaky) Apply(ctx context.Context, fence store.Fence, trs []*task.Transition) (
	[]store.Result, error) {
	if f.isPartial() {
		return nil, errDown
	}
	return f.Store.Apply(ctx, fence, trs)
}

func (f *flaky) Renew(ctx context.Context, epoch int64, d time.Duration) error {
	if err := f.err(); err != nil {
		return err
	}
	return f.Registry.Renew(ctx, epoch, d)
}

// site is a store with executors that renew their leases, in a bubble.
type site struct {
	t     *testing.T
	store *flaky
	start time.Time
	n     int
	ttl   time.Duration // of executor leases

	mu        sync.Mutex
	skew      time.Duration // of the leader's estimate of the store's time
	recovered []task.Task
	ended     []task.Task
	policy    complete.Policy // of all tasks
	errors    int
}

func onSite(t *testing.T, f func(s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{})
		f(&site{t: t, store: &flaky{Store: m, Registry: m.Registry()}, start: time.Now(),
			ttl: leaseTTL})
	})
}

// executor registers one and renews its lease until it is killed.
func (s *site) executor(name string) (epoch int64, kill func()) {
	s.t.Helper()
	s.n++
	epoch, err := s.store.Register(s.t.Context(), registry.Member{Name: name,
		Instance: fmt.Sprint(name, s.n), Group: "g", Slots: 8}, s.ttl)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.store.Renew(ctx, epoch, s.ttl)
			}
		}
	}()
	return epoch, func() { cancel(); <-ended }
}

// run inserts a running task of the epoch.
func (s *site) run(epoch int64, set func(k *task.Task)) task.ID {
	s.t.Helper()
	s.n++
	k := task.Task{ID: task.ID{1, byte(s.n >> 8), byte(s.n)}, Kind: "k", Group: "g",
		Bucket: task.Normal, MaxRetries: -1}
	k.State, k.Run, k.Attempt, k.RunAt = task.Running, 1, 1, task.StoreNow
	k.StartedAt, k.Epoch, k.ExecutionID = task.StoreNow, epoch, task.ID{2, byte(s.n >> 8), byte(s.n)}
	if set != nil {
		set(&k)
	}
	if _, err := s.store.Insert(s.t.Context(), store.Fence{}, []task.Task{k}); err != nil {
		s.t.Fatal(err)
	}
	return k.ID
}

// lead starts the sweeper of a new leader.
func (s *site) lead() (end func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	seen, err := s.store.Token(ctx, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	token, err := s.store.Install(ctx, 0, seen, "x")
	if err != nil {
		s.t.Fatal(err)
	}
	sw := New(Config{Store: s.store, Registry: s.store, Fence: store.Fence{Token: token},
		Now: func() task.Time {
			s.mu.Lock()
			defer s.mu.Unlock()
			return task.FromGo(time.Now().Add(s.skew))
		},
		Since: func() time.Duration { return time.Since(s.start) }, Silence: silence, TTL: s.ttl,
		Recovered: func(k *task.Task) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.recovered = append(s.recovered, *k)
		},
		Ended: func(k *task.Task) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ended = append(s.ended, *k)
		},
		Policy:  func(*task.Task) complete.Policy { return s.policy },
		Expirer: s.store,
		Failed:  func(error) { s.mu.Lock(); s.errors++; s.mu.Unlock() }, Every: sweeps})
	done := make(chan error, 1)
	go func() { done <- sw.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrFenced) {
			s.t.Errorf("Run: %v", err)
		}
	}
}

func (s *site) read(id task.ID) task.Task {
	s.t.Helper()
	synctest.Wait()
	rows, err := s.store.Tasks(s.t.Context(), []task.ID{id})
	if err != nil || len(rows) != 1 {
		s.t.Fatalf("read: %v", err)
	}
	return rows[0]
}

func (s *site) want(id task.ID, state task.State) task.Task {
	s.t.Helper()
	k := s.read(id)
	if k.State != state {
		s.t.Errorf("after %s the task is %s, want %s", time.Since(s.start), k.State, state)
	}
	return k
}

// TestD04DeadExecutor: what ran on an executor that died comes back within its lease, the silence
// and two sweeps, and not before its lease has run out.
func TestD04DeadExecutor(t *testing.T) {
	onSite(t, func(s *site) {
		dead, kill := s.executor("dead")
		alive, stop := s.executor("alive")
		lost, kept := s.run(dead, nil), s.run(alive, nil)
		end := s.lead()
		kill()
		time.Sleep(leaseTTL)
		s.want(lost, task.Running)
		time.Sleep(2 * sweeps)
		k := s.want(lost, task.Scheduled)
		if k.Recoveries != 1 || k.Failures != 0 || k.LastOutcome != task.OutLost {
			t.Errorf("recovered as %+v", k.Mutable)
		}
		s.want(kept, task.Running)
		if len(s.recovered) != 1 || s.recovered[0].Version != k.Version ||
			s.recovered[0].RunAt != k.RunAt {
			t.Errorf("told of %+v, the row is %+v", s.recovered, k)
		}
		end()
		stop()
	})
}

// TestD02LongHandler: liveness counts, never elapsed time.
func TestD02LongHandler(t *testing.T) {
	onSite(t, func(s *site) {
		epoch, stop := s.executor("a")
		id := s.run(epoch, nil)
		end := s.lead()
		time.Sleep(10 * time.Hour)
		if k := s.want(id, task.Running); k.Attempt != 1 || k.Version != 1 {
			t.Errorf("row %+v", k)
		}
		end()
		stop()
	})
}

// TestD01HeartbeatsStopLast: an executor that stops but still renews keeps its work; when it has
// left, what it did not finish comes back at the next sweep.
func TestD01HeartbeatsStopLast(t *testing.T) {
	onSite(t, func(s *site) {
		epoch, stop := s.executor("a")
		id := s.run(epoch, nil)
		end := s.lead()
		time.Sleep(2 * time.Minute)
		s.want(id, task.Running)
		stop()
		if err := s.store.Leave(s.t.Context(), epoch); err != nil {
			t.Fatal(err)
		}
		time.Sleep(sweeps)
		s.want(id, task.Scheduled)
		end()
	})
}

// TestH13NewLeaderWatchesFirst: a new leader finds an expired lease. It declares nobody lost before
// it has watched for the silence itself.
func TestH13NewLeaderWatchesFirst(t *testing.T) {
	onSite(t, func(s *site) {
		epoch, kill := s.executor("a")
		id := s.run(epoch, nil)
		kill()
		time.Sleep(time.Hour)
		end := s.lead()
		time.Sleep(silence - time.Millisecond)
		s.want(id, task.Running)
		time.Sleep(sweeps)
		s.want(id, task.Scheduled)
		end()
	})
}

// TestH13FastClock: a leader whose estimate of the store's time is ten minutes off declares nobody
// lost who renews, and one that is dead comes to be lost all the same.
func TestH13FastClock(t *testing.T) {
	for _, skew := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		onSite(t, func(s *site) {
			s.skew = skew
			a, stop := s.executor("a")
			b, kill := s.executor("b")
			kept, lost := s.run(a, nil), s.run(b, nil)
			end := s.lead()
			kill()
			time.Sleep(time.Hour)
			s.want(kept, task.Running)
			s.want(lost, task.Scheduled)
			if len(s.recovered) != 1 {
				t.Errorf("skew %s: %d recovered", skew, len(s.recovered))
			}
			end()
			stop()
		})
	}
}

// TestAfterAnOutage: the store was away for so long that every lease has expired. When it is back
// the executors renew, and nobody is declared lost; one that died meanwhile is, later.
func TestAfterAnOutage(t *testing.T) {
	for _, away := range []time.Duration{time.Minute, 10*time.Minute + 3*time.Second, 2 * time.Hour} {
		onSite(t, func(s *site) {
			a, stop := s.executor("a")
			b, kill := s.executor("b")
			kept, lost := s.run(a, nil), s.run(b, nil)
			end := s.lead()
			time.Sleep(time.Minute)
			s.store.set(func() { s.store.down = true })
			kill()
			time.Sleep(away)
			s.store.set(func() { s.store.down = false })
			time.Sleep(heartbeat)
			s.want(kept, task.Running)
			time.Sleep(time.Minute)
			s.want(kept, task.Running)
			s.want(lost, task.Scheduled)
			s.mu.Lock()
			if s.errors == 0 {
				t.Error("nobody was told of the outage")
			}
			s.mu.Unlock()
			end()
			stop()
		})
	}
}

// TestRowsBeforeMembers: an executor that registers, and claims, between the two readings is not
// taken for a retired one.
func TestRowsBeforeMembers(t *testing.T) {
	onSite(t, func(s *site) {
		var id task.ID
		var stop func()
		s.store.members = func() {
			var epoch int64
			epoch, stop = s.executor("new")
			id = s.run(epoch, nil)
		}
		end := s.lead()
		time.Sleep(time.Minute)
		synctest.Wait()
		s.want(id, task.Running)
		end()
		stop()
	})
}

// TestD07NoEpoch: a running row without a live executor is recovered, whatever its epoch says.
func TestD07NoEpoch(t *testing.T) {
	onSite(t, func(s *site) {
		ids := []task.ID{s.run(0, nil), s.run(4711, nil)}
		end := s.lead()
		time.Sleep(sweeps)
		for _, id := range ids {
			s.want(id, task.Scheduled)
		}
		end()
	})
}

// TestD05ForeignGroup: recovery knows the row, not the handler.
func TestD05ForeignGroup(t *testing.T) {
	onSite(t, func(s *site) {
		id := s.run(4711, func(k *task.Task) { k.Group, k.Kind = "other", "unknown here" })
		end := s.lead()
		time.Sleep(sweeps)
		if k := s.want(id, task.Scheduled); k.Group != "other" {
			t.Errorf("group %s", k.Group)
		}
		end()
	})
}

// TestD08TwoSweepers: a thousand rows and two leaders; each row is recovered once.
func TestD08TwoSweepers(t *testing.T) {
	onSite(t, func(s *site) {
		var ids []task.ID
		for range 2*page + 100 {
			ids = append(ids, s.run(4711, nil))
		}
		first := s.lead()
		second := s.lead()
		time.Sleep(3 * sweeps)
		for _, id := range ids {
			if k := s.want(id, task.Scheduled); k.Recoveries != 1 || k.Version != 3 {
				t.Fatalf("row %+v", k)
			}
		}
		if len(s.recovered) != len(ids) {
			t.Errorf("told of %d recoveries of %d rows", len(s.recovered), len(ids))
		}
		first()
		second()
	})
}

// TestR04Poison: the executor dies under the task again and again; a bystander of the last death
// is not condemned, a canceled one does not come back.
func TestR04Poison(t *testing.T) {
	onSite(t, func(s *site) {
		recoveries := func(n int) func(*task.Task) {
			return func(k *task.Task) { k.Recoveries = n }
		}
		killer := s.run(4711, recoveries(2))
		bystander := s.run(4711, recoveries(1))
		elsewhere := s.run(4712, recoveries(1)) // another executor died too
		canceled := s.run(4711, func(k *task.Task) { k.CancelAsked = task.StoreNow })
		end := s.lead()
		time.Sleep(sweeps)
		if k := s.want(killer, task.Dead); k.Reason != task.Poison || k.Recoveries != 3 {
			t.Errorf("killer: %s, %d recoveries", k.Reason, k.Recoveries)
		}
		if k := s.want(bystander, task.Scheduled); k.Recoveries != 1 {
			t.Errorf("bystander: %d recoveries", k.Recoveries)
		}
		if k := s.want(elsewhere, task.Scheduled); k.Recoveries != 2 ||
			k.RunAt.Sub(k.FinishedAt) != time.Second {
			t.Errorf("suspect: %d recoveries, runs %s later", k.Recoveries, k.RunAt.Sub(k.FinishedAt))
		}
		s.want(canceled, task.Canceled)
		end()
	})
}
