package ax

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/ax-sched/ax/internal/engine"
	"github.com/ax-sched/ax/seal"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Config says how a Scheduler works. The zero Config is right for most; every field has a default.
type Config struct {
	// NodeID names this process as an executor, for readers of the history. Default: random. Two
	// processes that run at the same time must not share it: the younger one retires the older.
	NodeID string
	// Group is the group of executors this process belongs to and the one its tasks and jobs go
	// to. Default: "default". Only the leader runs handlers, and only those of its own group: all
	// processes of one database that may lead need the same Group and the same kinds. Services
	// that differ in them need databases (or schemas) of their own.
	Group string
	// Slots is how many handlers may run at the same time in this process. Default: 256.
	Slots int
	// Service is the owner_service of tasks that name none: who to call about them.
	Service string
	// RetryRate is how many retries a minute the leader lets through, beside a tenth of the first
	// attempts of that minute; what is over waits, so that what is failing is not overrun. Recoveries
	// and what a person has asked for do not count. Default: 1,000; negative: no limit.
	RetryRate int
	// RequireKind refuses to submit kinds without a handler in this process. By default they are
	// accepted: a replica that only submits is normal.
	RequireKind bool
	// Logger takes what an operator must know. Default: slog.Default().
	Logger *slog.Logger
	// LogLevel is the lowest level of what handlers log with [Logger] that is also kept in the store,
	// see [Scheduler.Logs]. Default: slog.LevelInfo.
	LogLevel slog.Leveler
	// Observer is told what happens in this process, for metrics and traces. Default: none.
	Observer Observer
	// Middleware is put round the handlers of all kinds, the first outermost; [Use] adds to one
	// kind, inside of it.
	Middleware []Middleware
	// Redact masks the texts of errors and panics before they are stored and logged, and log lines
	// of handlers before they are stored. It is called on many goroutines and must return; if it
	// panics, the text is withheld. Default: nil, none.
	Redact func(text string) string
	// BeforeSubmit is called with each new task before it is checked and written: by Submit,
	// SubmitMany, their Tx forms, Delay and DelayFunc, not for jobs. It may change what n points
	// to, and an error refuses the submit; of many tasks none is written then. It runs in the
	// caller's goroutine, so many at the same time, but for the tasks of one SubmitMany one after
	// the other. Args has become Kind and Payload; Labels is a copy. Default: nil, none.
	BeforeSubmit func(ctx context.Context, n *NewTask) error
	// Seal encrypts payloads and results before they are stored and decrypts them for handlers,
	// Get and Jobs; kinds, keys, labels, error texts and history stay readable. Give the same keys
	// to all processes of one database. Default: nil, none: package seal.
	Seal *seal.Box

	// Retention says how long finished tasks stay; the leader deletes them with their history and
	// logs, by and by. Default: 7 days, those that are DEAD 90 days. Set it alike in all processes
	// that may lead.
	Retention Retention

	// Tick is the resolution of due times, 1 ms (default) to 1 s.
	Tick time.Duration
	// Window is how far ahead scheduled tasks are held in memory. Default: 5 min; shortened by
	// itself when more than 25,000 tasks of one priority lie in it.
	Window time.Duration
	// Poll is how often the table is read for what nobody announced. Default: 2 s; at most half of
	// Window, or what lies beyond it would be read too late.
	Poll time.Duration
	// Sweep is how often executions of lost processes are looked for. Default: 5 s.
	Sweep time.Duration
	// LeaseTTL is the life of the leader's lease, renewed every third of it. Default: 10 s.
	LeaseTTL time.Duration
	// ExecutorTTL is the life of this process's lease as an executor. Default: 30 s.
	ExecutorTTL time.Duration
	// Heartbeat is how often that lease is renewed. Default: 10 s; under a third of ExecutorTTL
	// makes little sense, over half of it is refused.
	Heartbeat time.Duration
	// Grace is how long running handlers may take to end when Run stops. Then their contexts end
	// with ErrShutdown. Default: 10 s.
	Grace time.Duration
	// ZombieWait is how long a handler past its hard time-out may take to end before its attempt
	// is given up. Default: 60 s.
	ZombieWait time.Duration

	// Clock replaces the host's clock, for tests with skewed nodes. Default: nil, the host's.
	Clock func() time.Time
	// Seed makes ids and jitter repeatable, for simulations. Default: 0, from the system.
	Seed uint64
}

// Retention says how long finished tasks stay in the table, by state and, where that is not enough,
// by kind or job. Less than a minute is refused; a negative time is for ever.
type Retention = store.Retention

// Keep is one rule of a [Retention]; a field that is 0 leaves it to the next more general one.
type Keep = store.Keep

// complete returns what the parts that run go by, with the defaults, and reports every wrong field,
// not only the first. In c it sets Logger and Group, and copies what the caller may use again.
func (c *Config) complete() (engine.Settings, error) {
	c.Retention.Kinds, c.Retention.Jobs = maps.Clone(c.Retention.Kinds), maps.Clone(c.Retention.Jobs)
	c.Middleware = slices.Clone(c.Middleware)
	s := engine.Settings{Logger: c.Logger, LogLevel: c.LogLevel, Redact: c.Redact,
		NodeID: c.NodeID, Group: c.Group, Slots: c.Slots, Tick: c.Tick, Window: c.Window,
		Poll: c.Poll, LeaseTTL: c.LeaseTTL, ExecutorTTL: c.ExecutorTTL, Heartbeat: c.Heartbeat,
		Sweep: c.Sweep, Grace: c.Grace, ZombieWait: c.ZombieWait, Retention: c.Retention,
		RetryRate: c.RetryRate}
	errs := []error{s.Complete(), task.CheckName("Config.Service", c.Service, true)}
	if slices.ContainsFunc(c.Middleware, func(m Middleware) bool { return m == nil }) {
		errs = append(errs, &InputError{Field: "Config.Middleware", Reason: "has a nil; leave it out"})
	}
	c.Logger, c.Group = s.Logger, s.Group
	return s, errors.Join(errs...)
}
