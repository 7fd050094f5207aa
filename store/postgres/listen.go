package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5"
)

var _ store.Hinter = (*Store)(nil)

// channel is the name that notifications of this schema have in the database.
func (s *Store) channel() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.schema)) // a hash takes everything
	return "ax_" + strconv.FormatUint(h.Sum64(), 36)
}

// hintChannel is where inserts send hints, or "".
func (s *Store) hintChannel() string {
	if !s.hints {
		return ""
	}
	return s.channel()
}

// Listen implements store.Hinter, on a connection of its own: each flush of inserts, from whatever
// process, that made a task due within four seconds gives one hint. It returns nil if ctx ended,
// and store.ErrClosed after Close.
func (s *Store) Listen(ctx context.Context, hint func(earliest task.Time)) error {
	if s.life.Err() != nil {
		return store.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.life, func() { cancel(store.ErrClosed) })
	defer stop()
	err := s.listen(ctx, hint)
	if errors.Is(context.Cause(ctx), store.ErrClosed) {
		return store.ErrClosed
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("listen: %w", err)
}

func (s *Store) listen(ctx context.Context, hint func(earliest task.Time)) error {
	c, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }() // nothing is lost with it
	if _, err := c.Exec(ctx, "SET lock_timeout = 0"); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, listenLock, s.channel()); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel()}.Sanitize()); err != nil {
		return err
	}
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if at, err := strconv.ParseInt(n.Payload, 10, 64); err == nil {
			hint(task.Time(at))
		}
	}
}
