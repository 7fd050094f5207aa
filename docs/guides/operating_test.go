package guides

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/memory"
)

// service is what runs in one process, and what its health routes ask.
type service struct {
	a       *ax.Scheduler
	running atomic.Bool
}

// run runs until ctx ends and returns when everything has ended.
func (s *service) run(ctx context.Context) error {
	s.running.Store(true)
	defer s.running.Store(false)
	return s.a.Run(ctx)
}

// ready answers 200 while tasks are run here or could be, as soon as this process leads.
func (s *service) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if _, err := s.a.Count(ctx, 1); err != nil || !s.running.Load() {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok, leading:", s.a.Stats().Leading)
}

// TestReady: the route says what the guide says it does, from before Run to after it and when the
// store is closed.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		a, err := ax.New(st, ax.Config{Clock: time.Now, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := &service{a: a}
		want := func(code int, text string) {
			t.Helper()
			w := httptest.NewRecorder()
			s.ready(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
			if w.Code != code || !strings.Contains(w.Body.String(), text) {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, code, text)
			}
		}
		want(http.StatusServiceUnavailable, "not ready")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.run(ctx) }()
		time.Sleep(time.Second)
		want(http.StatusOK, "leading: true")
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want(http.StatusServiceUnavailable, "not ready")
		s.running.Store(true)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		want(http.StatusServiceUnavailable, "not ready")
	})
}
