package axtest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
	"github.com/ax-sched/ax/task"
)

// shop closes orders that nobody pays.
type shop struct {
	ax *ax.Scheduler

	mu     sync.Mutex
	orders map[string]string // states by id
}

func newShop(a *ax.Scheduler) *shop {
	s := &shop{ax: a, orders: map[string]string{}}
	a.Handle("order.close", s.closeUnlessPaid)
	return s
}

func (s *shop) place(ctx context.Context, id string) error {
	s.set(id, "new")
	_, err := s.ax.Delay(ctx, "order.close", id, 30*time.Minute, nil)
	return err
}

func (s *shop) closeUnlessPaid(_ context.Context, t *ax.Task) error {
	if s.state(t.Key) == "new" {
		s.set(t.Key, "closed")
	}
	return nil
}

func (s *shop) set(id, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders[id] = state
}

func (s *shop) state(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[id]
}

func TestUnpaidOrderIsClosed(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		shop := newShop(tt.Scheduler) // registers its handlers
		if err := shop.place(tt.Context(), "1007"); err != nil {
			tt.Fatal(err)
		}
		timeout := tt.Submitted("order.close", "1007")
		tt.Advance(29 * time.Minute)
		tt.WantState(timeout.ID, task.Scheduled)
		tt.Advance(time.Minute)
		tt.WantState(timeout.ID, task.Succeeded)
		if shop.state("1007") != "closed" {
			tt.Error("the order is open")
		}
	})
}

func TestPaidOrderStays(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		shop := newShop(tt.Scheduler)
		if err := shop.place(tt.Context(), "1007"); err != nil {
			tt.Fatal(err)
		}
		shop.set("1007", "paid")
		tt.Advance(time.Hour)
		if shop.state("1007") != "paid" {
			tt.Errorf("the order is %s", shop.state("1007"))
		}
	})
}
