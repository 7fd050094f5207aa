package sim

import (
	"context"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// none is the answer of calls that have none.
type none = struct{}

func only(err error) (none, error) { return none{}, err }

// st is the store itself; its owner holds the world's lock.
func (l *link) st() backing { return l.w.st }

// Leases implements ax.Store.
func (l *link) Leases() lease.Backend { return leases{l} }

// Registry implements ax.Store.
func (l *link) Registry() registry.Registry { return members{l} }

// Close implements store.Store. A process does not own the world's store.
func (l *link) Close() error { return nil }

// Now implements store.Clock.
func (l *link) Now(ctx context.Context) (task.Time, error) {
	return reach(ctx, l, "now", l.st().Now)
}

// Token implements store.Fencer.
func (l *link) Token(ctx context.Context, partition int) (int64, error) {
	return reach(ctx, l, "token", func(ctx context.Context) (int64, error) {
		return l.st().Token(ctx, partition)
	})
}

// Install implements store.Fencer.
func (l *link) Install(ctx context.Context, partition int, seen int64, holder string) (int64,
	error) {
	return reach(ctx, l, "install", func(ctx context.Context) (int64, error) {
		token, err := l.st().Install(ctx, partition, seen, holder)
		if err == nil {
			l.w.c.installed(l.p, token)
			l.w.log(l.p, "leads with token %d", token)
		}
		return token, err
	})
}

// Insert implements store.Inserter.
func (l *link) Insert(ctx context.Context, f store.Fence, ts []task.Task) ([]store.Inserted,
	error) {
	return reach(ctx, l, "insert", func(ctx context.Context) ([]store.Inserted, error) {
		res, err := l.st().Insert(ctx, f, ts)
		l.w.log(l.p, "insert%v: %v %v", append([]task.Task(nil), ts...), len(res), err)
		l.w.c.failed("insert", err)
		if err == nil {
			l.w.c.inserted(l.p, f, ts, res)
		}
		return res, err
	})
}

// Apply implements store.Applier. Some rows may be locked by somebody else.
func (l *link) Apply(ctx context.Context, f store.Fence, trs []*task.Transition) (
	[]store.Result, error) {
	return reach(ctx, l, "apply", func(ctx context.Context) ([]store.Result, error) {
		var pass []*task.Transition
		locked := make([]bool, len(trs))
		for i, tr := range trs {
			locked[i] = !l.w.healed && l.p.dice.chance(l.w.weather.locked)
			if !locked[i] {
				pass = append(pass, tr)
			}
		}
		got, err := l.st().Apply(ctx, f, pass)
		if err != nil {
			l.w.log(l.p, "apply%v: %v", trs, err)
			l.w.c.failed("apply", err)
			return nil, err
		}
		res := make([]store.Result, len(trs))
		for i := range trs {
			if !locked[i] {
				res[i], got = got[0], got[1:]
				continue
			}
			res[i] = store.Result{Status: store.Locked, At: l.w.clock.now()}
			l.w.c.count(lockedRow)
		}
		l.w.log(l.p, "apply%v:%s", trs, statuses(res))
		l.w.c.applied(l.p, f, trs, res)
		return res, nil
	})
}

// Tasks implements store.Reader.
func (l *link) Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error) {
	return reach(ctx, l, "tasks", func(ctx context.Context) ([]task.Task, error) {
		return l.st().Tasks(ctx, ids)
	})
}

// ByKey implements store.Reader.
func (l *link) ByKey(ctx context.Context, kind, key string) (task.Task, error) {
	return reach(ctx, l, "by key", func(ctx context.Context) (task.Task, error) {
		return l.st().ByKey(ctx, kind, key)
	})
}

// List implements store.Reader.
func (l *link) List(ctx context.Context, q store.Query) ([]task.Task, error) {
	return reach(ctx, l, "list", func(ctx context.Context) ([]task.Task, error) {
		return l.st().List(ctx, q)
	})
}

// History implements store.Reader.
func (l *link) History(ctx context.Context, id task.ID) ([]task.Entry, error) {
	return reach(ctx, l, "history", func(ctx context.Context) ([]task.Entry, error) {
		return l.st().History(ctx, id)
	})
}

// Count implements store.Reader.
func (l *link) Count(ctx context.Context, limit int64) (map[task.State]int64, error) {
	return reach(ctx, l, "count", func(ctx context.Context) (map[task.State]int64, error) {
		return l.st().Count(ctx, limit)
	})
}

// Prune implements store.Pruner.
func (l *link) Prune(ctx context.Context, f store.Fence, p store.Prune) (store.Pruned, error) {
	return reach(ctx, l, "prune", func(ctx context.Context) (store.Pruned, error) {
		return l.st().Prune(ctx, f, p)
	})
}

// page is the answer of Due.
type page struct {
	rows [][]store.Due
	at   task.Time
}

// Due implements store.Watcher.
func (l *link) Due(ctx context.Context, cs []store.Cursor) ([][]store.Due, task.Time, error) {
	p, err := reach(ctx, l, "due", func(ctx context.Context) (p page, err error) {
		p.rows, p.at, err = l.st().Due(ctx, cs)
		return p, err
	})
	return p.rows, p.at, err
}

// Live implements store.Watcher.
func (l *link) Live(ctx context.Context, q store.LiveQuery) ([]task.Task, error) {
	return reach(ctx, l, "live", func(ctx context.Context) ([]task.Task, error) {
		return l.st().Live(ctx, q)
	})
}

// Expired implements store.Expirer.
func (l *link) Expired(ctx context.Context, limit int) ([]task.Task, error) {
	return reach(ctx, l, "expired", func(ctx context.Context) ([]task.Task, error) {
		return l.st().Expired(ctx, limit)
	})
}

// Note implements store.Noter.
func (l *link) Note(ctx context.Context, notes []store.Note) error {
	ids := make([]task.ID, len(notes))
	for i := range notes {
		ids[i] = notes[i].TaskID
	}
	_, err := reach(ctx, l, "note", func(ctx context.Context) (none, error) {
		before, err := l.st().Tasks(ctx, ids)
		if err != nil {
			return none{}, err
		}
		if err := l.st().Note(ctx, notes); err != nil {
			return none{}, err
		}
		after, err := l.st().Tasks(ctx, ids)
		l.w.c.noted(l.p, notes, before, after)
		return only(err)
	})
	return err
}

// Notes implements store.Noter.
func (l *link) Notes(ctx context.Context, ids []task.ID) ([]task.Progress, error) {
	return reach(ctx, l, "notes", func(ctx context.Context) ([]task.Progress, error) {
		return l.st().Notes(ctx, ids)
	})
}

// Logs implements store.Noter.
func (l *link) Logs(ctx context.Context, q store.LogQuery) ([]task.LogLine, error) {
	return reach(ctx, l, "logs", func(ctx context.Context) ([]task.LogLine, error) {
		return l.st().Logs(ctx, q)
	})
}

// PutJob implements store.JobStore.
func (l *link) PutJob(ctx context.Context, j task.Job) (task.Job, error) {
	return reach(ctx, l, "put job", func(ctx context.Context) (task.Job, error) {
		row, err := l.st().PutJob(ctx, j)
		if err == nil {
			l.w.c.put(row, l.w.clock.now())
			l.w.log(l.p, "put job %s version %d: %+v", row.Name, row.Version, row.Schedule)
		}
		return row, err
	})
}

// SteerJob implements store.JobSteerer.
func (l *link) SteerJob(ctx context.Context, id task.ID, version int64, c task.Control) (bool,
	error) {
	return reach(ctx, l, "steer job", func(ctx context.Context) (bool, error) {
		done, err := l.st().SteerJob(ctx, id, version, c)
		if err != nil || !done {
			return done, err
		}
		all, err := l.st().Jobs(ctx, 0)
		for _, j := range all {
			if j.ID == id {
				l.w.c.steered(id, version, j)
				l.w.log(l.p, "steer job %s: %+v", j.Name, j.Control)
			}
		}
		return true, err
	})
}

// DeleteJob implements store.JobStore.
func (l *link) DeleteJob(ctx context.Context, name string) error {
	_, err := reach(ctx, l, "delete job", func(ctx context.Context) (none, error) {
		err := l.st().DeleteJob(ctx, name)
		if err == nil {
			l.w.c.deleted(name, l.w.clock.now())
			l.w.log(l.p, "delete job %s", name)
		}
		return only(err)
	})
	return err
}

// Jobs implements store.JobStore.
func (l *link) Jobs(ctx context.Context, since task.Time) ([]task.Job, error) {
	return reach(ctx, l, "jobs", func(ctx context.Context) ([]task.Job, error) {
		return l.st().Jobs(ctx, since)
	})
}

// Fire implements store.JobStore.
func (l *link) Fire(ctx context.Context, f store.Fence, fs []store.Fire) (
	[]store.FireResult, error) {
	l.w.lock()
	asked := l.w.clock.now()
	l.w.mu.Unlock()
	return reach(ctx, l, "fire", func(ctx context.Context) ([]store.FireResult, error) {
		res, err := l.st().Fire(ctx, f, fs)
		if err != nil {
			l.w.log(l.p, "fire: %v", err)
			l.w.c.failed("fire", err)
			return nil, err
		}
		for i := range fs {
			l.w.log(l.p, "fire %s for %s as %s: status %d", fs[i].Task.Job,
				fs[i].Task.FireTime.Go().Format("04:05.000"), fs[i].Task.ID, res[i].Status)
		}
		l.w.c.fired(l.p, f, fs, res, asked)
		return res, nil
	})
}

// PutKinds implements store.KindStore.
func (l *link) PutKinds(ctx context.Context, ks []task.Kind) error {
	_, err := reach(ctx, l, "put kinds", func(ctx context.Context) (none, error) {
		return only(l.st().PutKinds(ctx, ks))
	})
	return err
}

// Kinds implements store.KindStore.
func (l *link) Kinds(ctx context.Context) ([]task.Kind, error) {
	return reach(ctx, l, "kinds", l.st().Kinds)
}

// leases is the lease.Backend of a link.
type leases struct{ l *link }

// Acquire implements lease.Backend.
func (x leases) Acquire(ctx context.Context, partition int, holder string,
	ttl time.Duration) error {
	_, err := reach(ctx, x.l, "acquire", func(ctx context.Context) (none, error) {
		return only(x.l.st().Leases().Acquire(ctx, partition, holder, ttl))
	})
	return err
}

// Renew implements lease.Backend.
func (x leases) Renew(ctx context.Context, partition int, holder string, ttl time.Duration) error {
	_, err := reach(ctx, x.l, "renew lease", func(ctx context.Context) (none, error) {
		return only(x.l.st().Leases().Renew(ctx, partition, holder, ttl))
	})
	return err
}

// Release implements lease.Backend.
func (x leases) Release(ctx context.Context, partition int, holder string) error {
	_, err := reach(ctx, x.l, "release lease", func(ctx context.Context) (none, error) {
		x.l.w.c.disturbed() // nobody leads for a moment
		return only(x.l.st().Leases().Release(ctx, partition, holder))
	})
	return err
}

// members is the registry.Registry of a link.
type members struct{ l *link }

// Register implements registry.Registry.
func (x members) Register(ctx context.Context, m registry.Member, ttl time.Duration) (int64,
	error) {
	l := x.l
	sent := l.w.elapsed()
	epoch, err := reach(ctx, l, "register", func(ctx context.Context) (int64, error) {
		epoch, err := l.st().Registry().Register(ctx, m, ttl)
		if err == nil {
			l.w.c.joined(l.p, m.Name, epoch)
			l.w.log(l.p, "registers %s as epoch %d", m.Name, epoch)
		}
		return epoch, err
	})
	if err == nil {
		l.believes(epoch, sent)
	}
	return epoch, err
}

// Renew implements registry.Registry.
func (x members) Renew(ctx context.Context, epoch int64, ttl time.Duration) error {
	l := x.l
	sent := l.w.elapsed()
	_, err := reach(ctx, l, "renew member", func(ctx context.Context) (none, error) {
		err := l.st().Registry().Renew(ctx, epoch, ttl)
		if err == nil {
			l.w.c.renewed(epoch)
		}
		return only(err)
	})
	if err == nil {
		l.believes(epoch, sent)
	}
	return err
}

func (l *link) believes(epoch int64, sent time.Duration) {
	l.w.lock()
	defer l.w.mu.Unlock()
	l.w.c.believes(epoch, sent)
}

// Retire implements registry.Registry.
func (x members) Retire(ctx context.Context, epoch int64) error {
	_, err := reach(ctx, x.l, "retire", func(ctx context.Context) (none, error) {
		err := x.l.st().Registry().Retire(ctx, epoch)
		x.l.w.log(x.l.p, "retires epoch %d: %v", epoch, err)
		if err == nil {
			x.l.w.c.declaredLost(epoch)
		}
		return only(err)
	})
	return err
}

// Leave implements registry.Registry.
func (x members) Leave(ctx context.Context, epoch int64) error {
	_, err := reach(ctx, x.l, "leave", func(ctx context.Context) (none, error) {
		err := x.l.st().Registry().Leave(ctx, epoch)
		if err == nil {
			x.l.w.c.left(x.l.p, epoch)
			x.l.w.log(x.l.p, "leaves as epoch %d", epoch)
		}
		return only(err)
	})
	return err
}

// Members implements registry.Registry.
func (x members) Members(ctx context.Context) ([]registry.Member, error) {
	return reach(ctx, x.l, "members", func(ctx context.Context) ([]registry.Member, error) {
		return x.l.st().Registry().Members(ctx)
	})
}
