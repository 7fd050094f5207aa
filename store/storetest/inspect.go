package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store"
)

var inspectTests = []test{
	{"NewStore", testInspectNew},
	{"ChangesNothing", testInspectChanges},
	{"Canceled", testInspectCanceled},
	{"AfterClose", testInspectClosed},
}

// inspector is the ability; every store has it.
func inspector(t *testing.T, s Full) store.Inspector {
	t.Helper()
	i, ok := store.As[store.Inspector](s)
	if !ok {
		t.Fatal("the store does not implement store.Inspector")
	}
	return i
}

// testInspectNew: a store that was just made is as the migrations make it.
func testInspectNew(t *testing.T, s Full) {
	in, err := inspector(t, s).Inspect(t.Context())
	if err != nil || len(in.Faults) > 0 || in.Schema.Installed != in.Schema.Newest ||
		len(in.Transactions) > 0 || len(in.Unclean) > 0 {
		t.Errorf("a new store: %+v, %v", in, err)
	}
}

// testInspectChanges: neither a task nor the lease is touched.
func testInspectChanges(t *testing.T, s Full) {
	row := insert(t, s, newTask(t.Name()))[0]
	if err := s.Leases().Acquire(t.Context(), 0, "somebody", time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := inspector(t, s).Inspect(t.Context()); err != nil {
		t.Fatal(err)
	}
	look, ok := s.Leases().(lease.Looker)
	if !ok {
		t.Fatal("the leases do not implement lease.Looker")
	}
	if h, err := look.Look(t.Context(), 0); err != nil || h.Holder != "somebody" || !h.Held() {
		t.Errorf("the lease is now %+v, %v", h, err)
	}
	if h, err := s.History(t.Context(), row.ID); err != nil || len(h) != 1 {
		t.Errorf("the history is now %v, %v", h, err)
	}
}

func testInspectCanceled(t *testing.T, s Full) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if in, err := inspector(t, s).Inspect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled context gave %+v, %v", in, err)
	}
}

func testInspectClosed(t *testing.T, s Full) {
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if in, err := inspector(t, s).Inspect(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a closed store gave %+v, %v", in, err)
	}
}
