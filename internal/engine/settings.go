package engine

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Settings are what a user may set; a field that is zero has a default.
type Settings struct {
	Logger *slog.Logger
	// LogLevel is the lowest level of a handler's log lines that are kept.
	LogLevel slog.Leveler
	Redact   func(text string) string // or nil, see executor.Config

	NodeID, Group          string
	Slots                  int
	Tick, Window, Poll     time.Duration
	LeaseTTL               time.Duration
	ExecutorTTL, Heartbeat time.Duration
	Sweep, Grace           time.Duration
	ZombieWait             time.Duration
	Retention              store.Retention
	RetryRate              int
}

// loaded is how many tasks that are due or almost due are held in memory for each priority; as many
// that are due later are held for all priorities together.
const loaded = 100_000

// Complete sets what is not set and reports every wrong field, not only the first; it names them as
// fields of Config.
func (s *Settings) Complete() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, &task.InputError{Field: "Config." + field,
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
	span("Tick", &s.Tick, time.Millisecond, time.Millisecond, time.Second)
	span("Window", &s.Window, 5*time.Minute, time.Second, 24*time.Hour)
	half := s.Window / 2
	span("Poll", &s.Poll, min(2*time.Second, half), 10*time.Millisecond, min(time.Minute, half))
	span("Sweep", &s.Sweep, 5*time.Second, 10*time.Millisecond, 10*time.Minute)
	span("LeaseTTL", &s.LeaseTTL, 10*time.Second, 300*time.Millisecond, 10*time.Minute)
	span("ExecutorTTL", &s.ExecutorTTL, 30*time.Second, 300*time.Millisecond, time.Hour)
	span("Heartbeat", &s.Heartbeat, s.ExecutorTTL/3, 100*time.Millisecond, s.ExecutorTTL/2)
	span("Grace", &s.Grace, 10*time.Second, time.Millisecond, 24*time.Hour)
	span("ZombieWait", &s.ZombieWait, time.Minute, time.Millisecond, 24*time.Hour)
	s.Slots, s.Group = cmp.Or(s.Slots, 256), cmp.Or(s.Group, "default")
	s.Logger = cmp.Or(s.Logger, slog.Default())
	if s.LogLevel == nil {
		s.LogLevel = slog.LevelInfo
	}
	if s.Slots < 1 || s.Slots > 100_000 {
		bad("Slots", "is %d; use 1 to 100,000", s.Slots)
	}
	errs = append(errs, s.Retention.Check("Config.Retention"),
		task.CheckName("Config.NodeID", s.NodeID, true),
		task.CheckName("Config.Group", s.Group, false))
	return errors.Join(errs...)
}
