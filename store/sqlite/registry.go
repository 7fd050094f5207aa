package sqlite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// members is the registry.Registry of a store. An executor is alive as long as its process, so no
// lease ends by time: an epoch is retired by its own executor, by a newer instance of its name, or
// by the next owner of the file, who knows that the process is dead.
type members struct {
	s *Store

	mu  sync.Mutex
	own map[int64]bool // epochs given to this process
}

func newMembers(s *Store) *members { return &members{s: s, own: make(map[int64]bool)} }

// Registry returns the store as a registry.Registry. A member's lease has no end: the time to live
// that callers name is not used, and Retire of an epoch that is not retired is ErrAlive.
func (s *Store) Registry() registry.Registry { return s.members }

// Register implements registry.Registry. A retired instance gets a new epoch.
func (r *members) Register(
	ctx context.Context, m registry.Member, _ time.Duration,
) (epoch int64, err error) {
	err = r.s.writer.do(ctx, true, 1, func(t *tx) error {
		epoch, err = t.register(&m)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("register executor: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own[epoch] = true
	return epoch, nil
}

func (t *tx) register(m *registry.Member) (epoch int64, err error) {
	_, err = t.run(retireName, func(q *lite.Stmt) {
		q.Text(1, m.Name)
		q.Int(2, int64(t.now))
		q.Text(3, m.Instance)
	})
	if err != nil {
		return 0, err
	}
	read := func(q *lite.Stmt) { epoch = q.ColInt(0) }
	found, err := one(t.conn, findInstance, func(q *lite.Stmt) { q.Text(1, m.Instance) }, read)
	if err != nil {
		return 0, err
	}
	if found {
		_, err = t.run(changeMember, func(q *lite.Stmt) {
			q.Int(1, epoch)
			q.Text(2, m.Name)
			q.Text(3, m.Group)
			q.Int(4, int64(m.Slots))
		})
		return epoch, err
	}
	_, err = t.run(insertMember, func(q *lite.Stmt) {
		q.Text(1, m.Name)
		q.Text(2, m.Instance)
		q.Text(3, m.Group)
		q.Int(4, int64(m.Slots))
		q.Int(5, int64(t.now))
	})
	if err != nil {
		return 0, err
	}
	_, err = one(t.conn, findInstance, func(q *lite.Stmt) { q.Text(1, m.Instance) }, read)
	return epoch, err
}

// Renew implements registry.Registry.
func (r *members) Renew(ctx context.Context, epoch int64, _ time.Duration) error {
	err := r.s.writer.do(ctx, true, 1, func(t *tx) error {
		n, err := t.run(renewMember, func(q *lite.Stmt) { q.Int(1, epoch) })
		if err == nil && n == 0 {
			err = registry.ErrRetired
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("renew executor %d: %w", epoch, err)
	}
	return nil
}

// Retire implements registry.Registry.
func (r *members) Retire(ctx context.Context, epoch int64) error {
	var alive bool
	err := r.s.readers.do(ctx, func(c *lite.Conn) (err error) {
		alive, err = one(c, isMember, func(q *lite.Stmt) { q.Int(1, epoch) }, nothing)
		return err
	})
	if err == nil && alive {
		err = registry.ErrAlive
	}
	if err != nil {
		return fmt.Errorf("retire executor %d: %w", epoch, err)
	}
	return nil
}

// Leave implements registry.Registry.
func (r *members) Leave(ctx context.Context, epoch int64) error {
	err := r.s.writer.do(ctx, true, 1, func(t *tx) error { return t.retire(epoch) })
	if err != nil {
		return fmt.Errorf("leave as executor %d: %w", epoch, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.own, epoch)
	return nil
}

func (t *tx) retire(epoch int64) error {
	_, err := t.run(retireMember, func(q *lite.Stmt) {
		q.Int(1, epoch)
		q.Int(2, int64(t.now))
	})
	return err
}

// retireOthers retires the epochs that belong to earlier processes.
func (r *members) retireOthers(t *tx) error {
	all, err := membersOf(t.conn)
	if err != nil {
		return err
	}
	for _, m := range all {
		if r.owns(m.Epoch) {
			continue
		}
		if err := t.retire(m.Epoch); err != nil {
			return err
		}
	}
	return nil
}

func (r *members) owns(epoch int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.own[epoch]
}

// Members implements registry.Registry; they come in the order of their epochs.
func (r *members) Members(ctx context.Context) (out []registry.Member, err error) {
	err = r.s.readers.do(ctx, func(c *lite.Conn) error {
		out, err = membersOf(c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read executors: %w", err)
	}
	return out, nil
}

func membersOf(c *lite.Conn) ([]registry.Member, error) {
	out := []registry.Member{}
	err := each(c, selectMembers, nothing, func(q *lite.Stmt) error {
		out = append(out, registry.Member{Epoch: q.ColInt(0), Name: q.ColText(1),
			Instance: q.ColText(2), Group: q.ColText(3), Slots: int(q.ColInt(4)),
			Renewals: q.ColInt(5), Until: task.MaxTime})
		return nil
	})
	return out, err
}
