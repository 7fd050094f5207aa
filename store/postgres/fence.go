package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
)

// installWait is how long an installer lets the writes of the leader before end by themselves.
const installWait = 500 * time.Millisecond

// Token implements store.Fencer.
func (s *Store) Token(ctx context.Context, partition int) (token int64, err error) {
	a := &args{}
	a.Int4(partition)
	err = s.read(ctx, "read token", readToken, a, func(r *row) { token = r.Int8() })
	return token, err
}

// Install implements store.Fencer. Writes of the leader before hold the row shared; if they do
// not end within half a second, the process is stopped in the middle of one, and its session is
// ended. That takes the right to do so: sessions of the same role.
func (s *Store) Install(
	ctx context.Context, partition int, seen int64, holder string,
) (token int64, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	for range 5 {
		token, err = s.install(ctx, partition, seen, holder)
		if code(err) != codeLocked {
			break
		}
		if end := s.endHolders(ctx); end != nil {
			err = errors.Join(err, end)
			break
		}
	}
	if err != nil {
		return 0, fmt.Errorf("install token %d of partition %d: %w", seen+1, partition, explain(err))
	}
	return token, nil
}

func (s *Store) install(
	ctx context.Context, partition int, seen int64, holder string,
) (token int64, err error) {
	a := &args{}
	a.Int4(partition)
	a.Int8(seen)
	a.Text(wire.Storable(holder))
	v := replaceToken
	if seen == 0 {
		v = installToken
	}
	err = retry(ctx, func() error {
		return s.with(ctx, s.keeper, func(c *conn) error {
			return c.patient(ctx, installWait, v, a, func(r *row) { token = r.Int8() })
		})
	})
	if err == nil && token == 0 {
		err = store.ErrFenced
	}
	return token, err
}

// endHolders ends the sessions that hold the fence. It has a connection of its own, because the
// installer's may be anybody's by now.
func (s *Store) endHolders(ctx context.Context) error {
	a := &args{}
	a.Text(s.render("schema.ax_partitions"))
	a.Int8(installWait.Microseconds())
	if err := s.one(ctx, s.readers, endFenceHolders, a, nil); err != nil {
		return fmt.Errorf("end the sessions that hold the token: %w", err)
	}
	return nil
}
