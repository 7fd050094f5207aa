// Package sweep repairs what a dead process left behind. It goes by leases and epochs, never by
// elapsed time alone, and by the rows as they are now, never by remembered events.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Store is what the sweep needs.
type Store interface {
	store.Applier
	Live(ctx context.Context, q store.LiveQuery) ([]task.Task, error)
}

// Config says how a Sweeper works; all fields are required.
type Config struct {
	Store    Store
	Registry registry.Registry
	Fence    store.Fence
	Now      func() task.Time     // estimate of the store's time
	Since    func() time.Duration // a clock that only moves forward, also in suspend
	// Silence is how long this process must itself have seen no renewal of an expired lease before
	// the executor is declared lost: a heartbeat and 2 s. After an outage every lease is expired.
	Silence time.Duration
	// TTL is the life of an executor's lease: it was renewed last so long before its end.
	TTL time.Duration
	// Policy merges a task's own options over those of its kind.
	Policy func(t *task.Task) complete.Policy
	// Expirer finds what has expired; nil: only the claims do.
	Expirer store.Expirer
	// Recovered is told of each task whose execution was lost, and Ended of each that is past its
	// own limits of time, as their rows are now; they must not block.
	Recovered, Ended func(t *task.Task)
	Failed           func(error)
	Every            time.Duration // 5 s
}

// Sweeper recovers executions of lost executors for the time of one leader's term.
type Sweeper struct {
	cfg   Config
	seen  map[int64]sighting  // by epoch
	last  time.Duration       // when the members were last read
	ended map[int64]task.Time // by epoch retired here: when its executor died at the latest
}

// sighting is when a member's renewals were last seen to grow.
type sighting struct {
	renewals int64
	at       time.Duration
}

// outage is how much later than planned a sweep may come before it is taken for an outage.
const outage = 2 * time.Second

// page is how many live rows are read at a time.
const page = 1000

// New returns a Sweeper that has seen nothing yet.
func New(cfg Config) *Sweeper {
	return &Sweeper{cfg: cfg, seen: map[int64]sighting{}, ended: map[int64]task.Time{}}
}

// Run sweeps at once and then regularly, until ctx ends or a newer leader exists.
func (s *Sweeper) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		if err := s.runOnce(ctx); errors.Is(err, store.ErrFenced) {
			return err
		} else if err != nil {
			s.cfg.Failed(fmt.Errorf("sweep: %w", err))
		}
		timer.Reset(s.cfg.Every)
	}
}

// runOnce retires lost executors, recovers what ran under retired epochs, and ends or holds what is
// past its own limits of time. The rows are read before the members: an executor that registers in
// between then cannot look retired.
func (s *Sweeper) runOnce(ctx context.Context) error {
	ctx, cancel := clock.Limit(ctx)
	defer cancel()
	rows, err := s.live(ctx)
	if err != nil {
		return err
	}
	members, err := s.cfg.Registry.Members(ctx)
	if err != nil {
		return fmt.Errorf("members: %w", err)
	}
	alive, err := s.retire(ctx, members)
	if err != nil {
		return err
	}
	lost := map[int64][]task.Task{}
	var running []task.Task
	for _, r := range rows {
		late := plant.On(plant.RecoverByTime) && s.cfg.Now().Sub(r.StartedAt) > 2*time.Second
		if !alive[r.Epoch] || late {
			lost[r.Epoch] = append(lost[r.Epoch], r)
		} else {
			running = append(running, r)
		}
	}
	maps.DeleteFunc(s.ended, func(epoch int64, _ task.Time) bool { return lost[epoch] == nil })
	for epoch, rs := range lost {
		if err := s.recover(ctx, rs, s.end(epoch)); err != nil {
			return err
		}
	}
	if err := s.hold(ctx, running); err != nil {
		return err
	}
	return s.expire(ctx)
}

// end returns the latest instant at which the executor of a lost epoch can have died. That is now
// if somebody else has retired it, who mostly is its successor: of a process that comes back under
// its own name, or on SQLite, nobody knows how long it was away.
func (s *Sweeper) end(epoch int64) task.Time {
	now := s.cfg.Now()
	if at, ok := s.ended[epoch]; ok {
		return min(now, at)
	}
	return now
}

func (s *Sweeper) live(ctx context.Context) ([]task.Task, error) {
	var all []task.Task
	q := store.LiveQuery{Limit: page}
	for {
		rows, err := s.cfg.Store.Live(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read live tasks: %w", err)
		}
		all = append(all, rows...)
		if len(rows) < page {
			return all, nil
		}
		q.After = rows[len(rows)-1].ID
	}
}

// retire declares lost whose lease has expired while this process watched, and returns the epochs
// that are alive.
func (s *Sweeper) retire(ctx context.Context, ms []registry.Member) (map[int64]bool, error) {
	if now := s.cfg.Since(); now-s.last > s.cfg.Every+outage {
		clear(s.seen) // the store was away, and nobody could renew: watch anew
	}
	s.last = s.cfg.Since()
	alive := make(map[int64]bool, len(ms))
	seen := make(map[int64]sighting, len(ms))
	for _, m := range ms {
		alive[m.Epoch] = true
		was, ok := s.seen[m.Epoch]
		if !ok || was.renewals != m.Renewals {
			was = sighting{m.Renewals, s.cfg.Since()}
		}
		seen[m.Epoch] = was
		if m.Until >= s.cfg.Now() || s.cfg.Since()-was.at < s.cfg.Silence &&
			!plant.On(plant.LostAtOnce) {
			continue
		}
		// Had it lived for longer than the silence it would have renewed once more. Noted before,
		// because nobody finds it among the members when the answer is lost.
		s.ended[m.Epoch] = m.Until.Add(min(s.cfg.Silence-s.cfg.TTL, 0))
		switch err := s.cfg.Registry.Retire(ctx, m.Epoch); {
		case err == nil:
			delete(alive, m.Epoch)
		case errors.Is(err, registry.ErrAlive): // it renewed just now
		default:
			return nil, fmt.Errorf("retire epoch %d: %w", m.Epoch, err)
		}
	}
	s.seen = seen
	return alive, nil
}

// recover moves the executions of one lost epoch on, whose executor died at end or before.
func (s *Sweeper) recover(ctx context.Context, rows []task.Task, end task.Time) error {
	_, err := s.apply(ctx, rows, complete.Lose(rows, end, s.cfg.Policy), s.cfg.Recovered)
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	return nil
}

// hold leaves executions past their max lifetime to a person.
func (s *Sweeper) hold(ctx context.Context, running []task.Task) error {
	now := s.cfg.Now()
	var rows []task.Task
	var trs []*task.Transition
	for i := range running {
		t := &running[i]
		if tr := complete.Overlong(t, s.cfg.Policy(t), now); tr != nil {
			rows, trs = append(rows, *t), append(trs, tr)
		}
	}
	if len(trs) == 0 {
		return nil
	}
	if _, err := s.apply(ctx, rows, trs, s.cfg.Ended); err != nil {
		return fmt.Errorf("hold past the max lifetime: %w", err)
	}
	return nil
}

// mostExpired is how many pages of expired tasks one sweep ends.
const mostExpired = 10

// expire ends what waits past its ExpiresAt. Most of it was found by the claims; the rest waits for
// something else than its time.
func (s *Sweeper) expire(ctx context.Context) error {
	if s.cfg.Expirer == nil {
		return nil
	}
	for range mostExpired {
		rows, err := s.cfg.Expirer.Expired(ctx, page)
		if err != nil {
			return fmt.Errorf("read expired tasks: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		trs := make([]*task.Transition, 0, len(rows))
		for i := range rows {
			trs = append(trs, complete.Expire(&rows[i], task.MaxTime)) // the store knows the time
		}
		n, err := s.apply(ctx, rows, trs, s.cfg.Ended)
		if err != nil {
			return fmt.Errorf("expire: %w", err)
		}
		if n == 0 || len(rows) < page {
			return nil // the next sweep goes on
		}
	}
	return nil
}

// apply applies a transition for each row, tells of each that was applied, and returns their
// number. What was refused has moved meanwhile; the next sweep looks again.
func (s *Sweeper) apply(ctx context.Context, rows []task.Task, trs []*task.Transition,
	tell func(*task.Task)) (n int, err error) {
	res, err := s.cfg.Store.Apply(ctx, s.cfg.Fence, trs)
	if err != nil {
		return 0, err
	}
	for i := range rows {
		if res[i].Status != store.Applied {
			continue
		}
		n++
		res[i].Into(&rows[i], trs[i])
		tell(&rows[i])
	}
	return n, nil
}
