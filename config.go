package ax

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

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

// loadedTasks is how many tasks that are due or almost due are held in memory for each priority; as
// many that are due later are held for all priorities together.
const loadedTasks = 100_000

// withDefaults sets what is not set and reports every wrong field, not only the first.
func (c Config) withDefaults() (Config, error) {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, &InputError{Field: "Config." + field,
			Reason: fmt.Sprintf(format, args...)})
	}
	span := func(field string, d *time.Duration, usual, least, most time.Duration) {
		if *d == 0 {
			*d = usual
		}
		if *d < least || *d > most {
			bad(field, "is %s; use %s to %s", *d, least, most)
		}
	}
	span("Tick", &c.Tick, time.Millisecond, time.Millisecond, time.Second)
	span("Window", &c.Window, 5*time.Minute, time.Second, 24*time.Hour)
	half := c.Window / 2
	span("Poll", &c.Poll, min(2*time.Second, half), 10*time.Millisecond, min(time.Minute, half))
	span("Sweep", &c.Sweep, 5*time.Second, 10*time.Millisecond, 10*time.Minute)
	span("LeaseTTL", &c.LeaseTTL, 10*time.Second, 300*time.Millisecond, 10*time.Minute)
	span("ExecutorTTL", &c.ExecutorTTL, 30*time.Second, 300*time.Millisecond, time.Hour)
	span("Heartbeat", &c.Heartbeat, c.ExecutorTTL/3, 100*time.Millisecond, c.ExecutorTTL/2)
	span("Grace", &c.Grace, 10*time.Second, time.Millisecond, 24*time.Hour)
	span("ZombieWait", &c.ZombieWait, time.Minute, time.Millisecond, 24*time.Hour)
	c.Slots, c.Group = cmp.Or(c.Slots, 256), cmp.Or(c.Group, "default")
	c.Retention.Kinds, c.Retention.Jobs = maps.Clone(c.Retention.Kinds), maps.Clone(c.Retention.Jobs)
	c.Middleware = slices.Clone(c.Middleware) // the caller may use its slice again
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.LogLevel == nil {
		c.LogLevel = slog.LevelInfo
	}
	if slices.ContainsFunc(c.Middleware, func(m Middleware) bool { return m == nil }) {
		bad("Middleware", "has a nil; leave it out")
	}
	if c.Slots < 1 || c.Slots > 100_000 {
		bad("Slots", "is %d; use 1 to 100,000", c.Slots)
	}
	errs = append(errs, c.Retention.Check("Config.Retention"),
		task.CheckName("Config.NodeID", c.NodeID, true),
		task.CheckName("Config.Group", c.Group, false),
		task.CheckName("Config.Service", c.Service, true))
	return c, errors.Join(errs...)
}
