package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/registry"
)

// MemberConfig says how a Member works; all fields are required.
type MemberConfig struct {
	Registry registry.Registry
	Member   registry.Member // Epoch, Until and Renewals are ignored
	TTL      time.Duration   // of the executor lease, 30 s
	Every    time.Duration   // between renewals, 10 s
	// Since is a clock that only moves forward, also in suspend.
	Since func() time.Duration
	// Retired is told that the epoch was declared lost: what runs must end.
	Retired func()
	// Failed is told of each error of the registry; renewing goes on.
	Failed func(error)
}

// Member keeps this process registered as an executor. All methods are safe for concurrent use.
type Member struct {
	cfg MemberConfig

	mu     sync.Mutex
	joined bool // it should be a member: Register was called, Leave was not
	epoch  int64
	until  time.Duration // belief in the lease ends here
}

// renewTries is how often one renewal is tried, with a pause of renewPause in between.
const (
	renewTries = 5
	renewPause = 500 * time.Millisecond
)

// NewMember returns a Member that is not registered yet.
func NewMember(cfg MemberConfig) *Member { return &Member{cfg: cfg} }

// Current returns the name and epoch. ok is false while the lease is not believed to hold: then
// nothing may be started, because somebody else may have been given the work.
func (m *Member) Current() (name string, epoch int64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cfg.Member.Name, m.epoch, m.epoch != 0 && m.cfg.Since() < m.until
}

// Register makes the process a member if it is none, or if its epoch was retired.
func (m *Member) Register(ctx context.Context) error {
	m.join(true)
	return m.register(ctx)
}

func (m *Member) register(ctx context.Context) error {
	// One connection that never answers must not keep the lease from being renewed by another.
	ctx, cancel := context.WithTimeout(ctx, max(m.cfg.Every, time.Second))
	defer cancel()
	if err := m.renew(ctx); err == nil {
		return nil
	} else if !errors.Is(err, registry.ErrRetired) || !m.wanted() {
		return err
	}
	sent := m.cfg.Since()
	epoch, err := m.cfg.Registry.Register(ctx, m.cfg.Member, m.cfg.TTL)
	if err != nil {
		return fmt.Errorf("register executor: %w", err)
	}
	if !m.wanted() { // it left while the answer was under way
		return m.cfg.Registry.Leave(ctx, epoch)
	}
	m.set(epoch, sent+m.cfg.TTL)
	return nil
}

// wanted reports whether this process is to be a member.
func (m *Member) wanted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.joined
}

func (m *Member) join(in bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined = in
}

func (m *Member) set(epoch int64, until time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch, m.until = epoch, until
}

// renew extends the lease of the present epoch; without one it returns ErrRetired.
func (m *Member) renew(ctx context.Context) error {
	_, epoch, _ := m.Current()
	if epoch == 0 {
		return registry.ErrRetired
	}
	sent := m.cfg.Since()
	err := m.cfg.Registry.Renew(ctx, epoch, m.cfg.TTL)
	switch {
	case err == nil:
		m.set(epoch, sent+m.cfg.TTL)
	case errors.Is(err, registry.ErrRetired) && m.wanted():
		m.set(0, 0)
		m.cfg.Retired()
	}
	return err
}

// Run renews until ctx ends. It registers again after the epoch was retired.
func (m *Member) Run(ctx context.Context) error {
	tick := time.NewTicker(m.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		m.keep(ctx)
	}
}

// keep is one renewal with its tries.
func (m *Member) keep(ctx context.Context) {
	for range renewTries {
		if !m.wanted() {
			return // never was, or has left
		}
		err := m.register(ctx)
		if err == nil || ctx.Err() != nil || !m.wanted() {
			return // that the epoch is retired is no news to one that has just left
		}
		m.cfg.Failed(fmt.Errorf("renew executor lease: %w", err))
		clock.Sleep(ctx, renewPause)
	}
}

// Leave ends the membership at once; executions still running are then recovered elsewhere. With
// linger it only ends the renewals, and the lease runs on for so long: handlers outlive the process
// part that leaves, and must not be started elsewhere beside themselves.
func (m *Member) Leave(ctx context.Context, linger time.Duration) error {
	m.join(false)
	_, epoch, _ := m.Current()
	switch {
	case epoch == 0:
		return nil
	case linger > 0:
		return m.cfg.Registry.Renew(ctx, epoch, max(linger, m.cfg.TTL))
	}
	m.set(0, 0)
	return m.cfg.Registry.Leave(ctx, epoch)
}
