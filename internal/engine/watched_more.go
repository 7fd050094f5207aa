package engine

import (
	"context"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// watchAbilities wraps a store once for each of its optional abilities that make calls, so that
// store.As finds those and no others. What has no calls to time, such as hints, it finds below.
func watchAbilities(st Backend, w watch) Backend {
	top := st
	if a, ok := store.As[store.Noter](st); ok {
		top = &watchedNoter{above{top, w}, a}
	}
	if a, ok := store.As[store.Expirer](st); ok {
		top = &watchedExpirer{above{top, w}, a}
	}
	if a, ok := store.As[store.JobSteerer](st); ok {
		top = &watchedSteerer{above{top, w}, a}
	}
	if a, ok := store.As[store.TxWriter](st); ok {
		top = &watchedTx{above{top, w}, a}
	}
	return top
}

// above is a wrapper that adds nothing yet.
type above struct {
	Backend
	watch
}

func (s above) Unwrap() store.Store { return s.Backend }

type watchedNoter struct {
	above
	noter store.Noter
}

func (s *watchedNoter) Note(ctx context.Context, ns []store.Note) (err error) {
	defer s.done("note", time.Now(), &err)
	return s.noter.Note(ctx, ns)
}

func (s *watchedNoter) Notes(ctx context.Context, ids []task.ID) (ps []task.Progress, err error) {
	defer s.done("notes", time.Now(), &err)
	return s.noter.Notes(ctx, ids)
}

func (s *watchedNoter) Logs(ctx context.Context, q store.LogQuery) (ls []task.LogLine, err error) {
	defer s.done("logs", time.Now(), &err)
	return s.noter.Logs(ctx, q)
}

type watchedExpirer struct {
	above
	expirer store.Expirer
}

func (s *watchedExpirer) Expired(ctx context.Context, limit int) (ts []task.Task, err error) {
	defer s.done("expired", time.Now(), &err)
	return s.expirer.Expired(ctx, limit)
}

type watchedSteerer struct {
	above
	steerer store.JobSteerer
}

func (s *watchedSteerer) SteerJob(ctx context.Context, id task.ID, version int64,
	c task.Control) (ok bool, err error) {
	defer s.done("steer_job", time.Now(), &err)
	return s.steerer.SteerJob(ctx, id, version, c)
}

type watchedTx struct {
	above
	writer store.TxWriter
}

func (s *watchedTx) InsertTx(ctx context.Context, tx store.Tx, ts []task.Task) (
	ins []store.Inserted, err error) {
	defer s.done("insert_tx", time.Now(), &err)
	return s.writer.InsertTx(ctx, tx, ts)
}

func (s *watchedTx) CompleteTx(ctx context.Context, tx store.Tx, id, execution task.ID) (
	res store.Result, err error) {
	defer s.done("complete_tx", time.Now(), &err)
	return s.writer.CompleteTx(ctx, tx, id, execution)
}
