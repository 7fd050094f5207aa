package registrytest

import (
	"context"
	"errors"
	"testing"

	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/task"
)

func testRegister(t *testing.T, s suite) {
	m := member()
	m.Group, m.Slots = "Gruppe-订单", 256
	m.Epoch, m.Renewals, m.Until = 77, 88, 99 // are not the caller's to set
	epoch := s.register(t, m, long)
	got, ok := s.find(t, epoch)
	if !ok {
		t.Fatalf("epoch %d is not listed", epoch)
	}
	if s.Eternal && got.Until != task.MaxTime || !s.Eternal && got.Until <= 99 ||
		got.Renewals >= 88 {
		t.Errorf("until %d, renewals %d", got.Until, got.Renewals)
	}
	m.Epoch, m.Until, m.Renewals = epoch, got.Until, got.Renewals
	if got != m {
		t.Errorf("listed as %+v; want %+v", got, m)
	}
}

// A repeat after a lost answer gives the same epoch, and takes over what has changed.
func testSameInstance(t *testing.T, s suite) {
	m := member()
	epoch := s.register(t, m, long)
	m.Slots, m.Group = 3, "other"
	for range 3 {
		if again := s.register(t, m, long); again != epoch {
			t.Errorf("the same instance got epoch %d, then %d", epoch, again)
		}
	}
	if got, ok := s.find(t, epoch); !ok || got.Slots != 3 || got.Group != "other" {
		t.Errorf("listed as %+v, %t; want the new slots and group", got, ok)
	}
}

// A process that starts again with its name must not wait for the lease of its former self.
func testNewInstance(t *testing.T, s suite) {
	m := member()
	other := s.register(t, member(), long)
	first := s.register(t, m, long)
	m.Instance = instance()
	second := s.register(t, m, long)
	if second <= first {
		t.Errorf("the new instance got epoch %d after %d", second, first)
	}
	s.gone(t, first)
	for _, epoch := range []int64{second, other} {
		if _, ok := s.find(t, epoch); !ok {
			t.Errorf("epoch %d is not listed", epoch)
		}
		if err := s.r.Renew(t.Context(), epoch, long); err != nil {
			t.Errorf("renew of epoch %d: %v", epoch, err)
		}
	}
}

func testEpochsGrow(t *testing.T, s suite) {
	last := int64(0)
	m := member()
	for i := range 10 {
		if i%2 == 0 {
			m = member()
		} else {
			m.Instance = instance()
		}
		epoch := s.register(t, m, long)
		if epoch <= last {
			t.Errorf("epoch %d after %d", epoch, last)
		}
		last = epoch
		if i%3 == 0 { // also when the latest is gone
			if err := s.r.Leave(t.Context(), epoch); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Epochs are unique whoever registers at the same time; of several instances of one name one is
// left.
func testConcurrent(t *testing.T, s suite) {
	const n = 8
	shared := member()
	var epochs [n]int64
	async(n, func(i int) {
		m := member()
		if i%2 == 0 {
			m.Name = shared.Name
		}
		var err error
		if epochs[i], err = s.r.Register(t.Context(), m, long); err != nil {
			t.Errorf("register: %v", err)
		}
	})
	seen := map[int64]bool{}
	living := 0
	for i, epoch := range epochs {
		if seen[epoch] {
			t.Errorf("epoch %d was given twice", epoch)
		}
		seen[epoch] = true
		if _, ok := s.find(t, epoch); ok && i%2 == 0 {
			living++
		} else if !ok && i%2 == 1 {
			t.Errorf("epoch %d of a name of its own is not listed", epoch)
		}
	}
	if living != 1 {
		t.Errorf("%d instances of one name are listed; want 1", living)
	}
}

func testRenew(t *testing.T, s suite) {
	m := member()
	epoch := s.register(t, m, long)
	before, _ := s.find(t, epoch)
	for range 3 {
		if err := s.r.Renew(t.Context(), epoch, 2*long); err != nil {
			t.Fatal(err)
		}
		after, ok := s.find(t, epoch)
		if !ok || after.Renewals <= before.Renewals {
			t.Errorf("renewals %d after %d", after.Renewals, before.Renewals)
		}
		if s.Eternal && after.Until != task.MaxTime || !s.Eternal && after.Until < before.Until {
			t.Errorf("until %d after %d", after.Until, before.Until)
		}
		before = after
	}
	if !s.Eternal {
		if err := s.r.Renew(t.Context(), epoch, short); err != nil {
			t.Fatal(err)
		}
		if after, _ := s.find(t, epoch); after.Until.Sub(before.Until) > -long/2 {
			t.Error("a renewal counts from what was left, not from now")
		}
	}
}

func testRetireAlive(t *testing.T, s suite) {
	epoch := s.register(t, member(), long)
	if err := s.r.Retire(t.Context(), epoch); !errors.Is(err, registry.ErrAlive) {
		t.Errorf("retire of a living member gave %v; want ErrAlive", err)
	}
	if _, ok := s.find(t, epoch); !ok {
		t.Error("it is not listed any more")
	}
	if err := s.r.Renew(t.Context(), epoch, long); err != nil {
		t.Errorf("renew after the refused retirement: %v", err)
	}
}

func testRetire(t *testing.T, s suite) {
	epoch := s.register(t, member(), short)
	s.retireWhenExpired(t, epoch)
	s.gone(t, epoch)
	if err := s.r.Retire(t.Context(), epoch); err != nil {
		t.Errorf("second retirement: %v", err)
	}
	s.gone(t, epoch)
}

// Time alone loses nothing: an expired member that was not retired comes back by a renewal.
func testRevive(t *testing.T, s suite) {
	expired, witness := s.register(t, member(), short), s.register(t, member(), short)
	s.retireWhenExpired(t, witness) // now the other one has expired too
	if err := s.r.Renew(t.Context(), expired, long); err != nil {
		t.Fatalf("renew of an expired epoch: %v", err)
	}
	if err := s.r.Retire(t.Context(), expired); !errors.Is(err, registry.ErrAlive) {
		t.Errorf("retire of a revived member gave %v; want ErrAlive", err)
	}
	if _, ok := s.find(t, expired); !ok {
		t.Error("the revived member is not listed")
	}
}

func testExpiredListed(t *testing.T, s suite) {
	expired, witness := s.register(t, member(), short), s.register(t, member(), short)
	s.retireWhenExpired(t, witness)
	if _, ok := s.find(t, expired); !ok {
		t.Error("an expired member is lost without having been retired")
	}
}

// Of a renewal and a retirement at the same time exactly one wins.
func testRenewAgainstRetire(t *testing.T, s suite) {
	for range 5 {
		expired, witness := s.register(t, member(), short), s.register(t, member(), short)
		s.retireWhenExpired(t, witness)
		var errs [2]error
		async(2, func(i int) {
			if i == 0 {
				errs[0] = s.r.Renew(t.Context(), expired, long)
			} else {
				errs[1] = s.r.Retire(t.Context(), expired)
			}
		})
		_, listed := s.find(t, expired)
		renewed := errs[0] == nil && errors.Is(errs[1], registry.ErrAlive) && listed
		retired := errs[1] == nil && errors.Is(errs[0], registry.ErrRetired) && !listed
		if !renewed && !retired {
			t.Errorf("renew gave %v, retire gave %v, listed %t", errs[0], errs[1], listed)
		}
	}
}

func testLeave(t *testing.T, s suite) {
	epoch, other := s.register(t, member(), long), s.register(t, member(), long)
	for range 2 { // the second one is harmless
		if err := s.r.Leave(t.Context(), epoch); err != nil {
			t.Errorf("leave: %v", err)
		}
		s.gone(t, epoch)
	}
	if err := s.r.Retire(t.Context(), epoch); err != nil {
		t.Errorf("retire of one that left: %v", err)
	}
	if _, ok := s.find(t, other); !ok {
		t.Error("another member left with it")
	}
}

// An executor that learns of its retirement registers again, with the instance it has.
func testReturn(t *testing.T, s suite) {
	m := member()
	first := s.register(t, m, long)
	if err := s.r.Leave(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := s.register(t, m, long)
	if second <= first {
		t.Errorf("after its retirement the instance got epoch %d after %d", second, first)
	}
	s.gone(t, first)
	if _, ok := s.find(t, second); !ok {
		t.Error("the new epoch is not listed")
	}
}

// An epoch that nobody knows counts as retired, also if its entry was lost.
func testUnknown(t *testing.T, s suite) {
	unknown := s.register(t, member(), long) + 1_000_000
	s.gone(t, unknown)
	if err := s.r.Retire(t.Context(), unknown); err != nil {
		t.Errorf("retire: %v", err)
	}
	if err := s.r.Leave(t.Context(), unknown); err != nil {
		t.Errorf("leave: %v", err)
	}
}

func testCanceled(t *testing.T, s suite) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := member()
	if _, err := s.r.Register(ctx, m, long); !errors.Is(err, context.Canceled) {
		t.Errorf("register with a canceled context gave %v", err)
	}
	all, err := s.r.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		if x.Instance == m.Instance {
			t.Error("it was registered all the same")
		}
	}
}
