package manifest

import (
	"time"

	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
	"go.yaml.in/yaml/v3"
)

// jobFields are the keys of a job for a handler, in the order in which they are written.
func jobFields() []field[Job] {
	fields := []field[Job]{
		text("kind", func(j *Job) *string { return &j.Row.Kind }),
		{key: "group", set: func(r *reader, n *yaml.Node, j *Job) {
			if r.text(n, &j.Row.Group) {
				r.check(n, task.CheckName("group", j.Row.Group, false))
			}
		}, get: func(j *Job) any {
			if j.Row.Group == "default" {
				return nil
			}
			return orNil(j.Row.Group)
		}},
	}
	return append(append(fields, payloadFields()...), policyFields()...)
}

// runFields are the keys of a job of ax run.
func runFields() []field[Job] { return append(actionFields(), policyFields()...) }

// policyFields are the keys that both sorts of files have.
func policyFields() []field[Job] {
	return []field[Job]{
		{key: "schedule", set: readSchedule, get: func(j *Job) any {
			return show(scheduleFields(), &j.Row.Schedule)
		}},
		{key: "misfire", set: func(r *reader, n *yaml.Node, j *Job) {
			choice(r, n, &j.Row.Misfire, misfireNames, []task.Misfire{task.MisfireOnce,
				task.MisfireSkip, task.MisfireAll})
		}, get: func(j *Job) any {
			if m := j.Row.Misfire; m != task.MisfireOnce && int(m) < len(misfireNames) {
				return misfireNames[m]
			}
			return nil
		}},
		span("misfire_grace", func(j *Job) *time.Duration { return &j.Row.MisfireGrace }),
		count("misfire_cap", func(j *Job) *int { return &j.Row.MisfireCap }),
		{key: "overlap", set: func(r *reader, n *yaml.Node, j *Job) {
			choice(r, n, &j.Row.Overlap, []string{"skip", "allow", "queue", "replace"},
				[]task.Overlap{task.OverlapSkip, task.OverlapAllow, task.OverlapQueue,
					task.OverlapReplace})
		}, get: func(j *Job) any {
			if j.Row.Overlap == task.OverlapSkip {
				return nil
			}
			return j.Row.Overlap.String()
		}},
		text("overlap_key", func(j *Job) *string { return &j.Row.OverlapKey }),
		{key: "priority", set: func(r *reader, n *yaml.Node, j *Job) {
			choice(r, n, &j.Row.Bucket, []string{"CRITICAL", "HIGH", "NORMAL", "LOW"},
				task.Buckets())
		}, get: func(j *Job) any {
			if j.Row.Bucket.OrNormal() == task.Normal {
				return nil
			}
			return j.Row.Bucket.String()
		}},
		{key: "max_retries", set: func(r *reader, n *yaml.Node, j *Job) {
			whole(r, n, &j.Row.MaxRetries)
		}, get: func(j *Job) any {
			if j.Row.MaxRetries < 0 {
				return nil
			}
			return int64(j.Row.MaxRetries)
		}},
		{key: "retry", set: func(r *reader, n *yaml.Node, j *Job) {
			j.Retry = &retry.Policy{}
			read(r, n, "retry.", retryFields(), j.Retry, j.lines)
		}, get: func(j *Job) any {
			if j.Retry == nil {
				return nil
			}
			return show(retryFields(), j.Retry)
		}},
		bound("timeout", func(j *Job) *time.Duration { return &j.Row.Timeout }),
		{key: "delivery", set: func(r *reader, n *yaml.Node, j *Job) {
			choice(r, n, &j.Once, []string{"at_least_once", "at_most_once"}, []bool{false, true})
		}, get: func(*Job) any { return nil }}, // a row says it by on_unknown and max_retries
		{key: "on_unknown", set: func(r *reader, n *yaml.Node, j *Job) {
			choice(r, n, &j.Row.OnUnknown, []string{"retry", "hold"},
				[]task.Unknown{task.UnknownRetry, task.UnknownHold})
		}, get: func(j *Job) any { return orNil(j.Row.OnUnknown.String()) }},
		bound("max_lateness", func(j *Job) *time.Duration { return &j.Row.MaxLateness }),
		bound("max_lifetime", func(j *Job) *time.Duration { return &j.Row.MaxLifetime }),
		instant("starts_at", func(j *Job) *task.Time { return &j.Row.StartsAt }),
		instant("ends_at", func(j *Job) *task.Time { return &j.Row.EndsAt }),
		{key: "max_fires", set: func(r *reader, n *yaml.Node, j *Job) {
			if r.number(n, &j.Row.MaxFires) && j.Row.MaxFires < 0 {
				r.refuse(n, "is %d; use 1 or more, or 0 for no limit", j.Row.MaxFires)
			}
		}, get: func(j *Job) any { return orNil(j.Row.MaxFires) }},
		span("jitter", func(j *Job) *time.Duration { return &j.Row.Jitter }),
		{key: "labels", set: func(r *reader, n *yaml.Node, j *Job) { j.Row.Labels = r.labels(n) },
			get: func(j *Job) any {
				if len(j.Row.Labels) == 0 {
					return nil
				}
				return j.Row.Labels
			}},
		text("owner_service", func(j *Job) *string { return &j.Row.OwnerService }),
		{key: "paused", set: func(r *reader, n *yaml.Node, j *Job) {
			j.Paused = new(bool)
			choice(r, n, j.Paused, []string{"true", "false"}, []bool{true, false})
		}, get: func(j *Job) any {
			if j.Paused == nil {
				return nil
			}
			return *j.Paused
		}},
	}
}

var misfireNames = []string{"once", "skip", "all"}

// limit is a time-out; a negative one is none.
type limit time.Duration

// bound is a limit; "none", or 0 milliseconds, is one too.
func bound(key string, at func(*Job) *time.Duration) field[Job] {
	return field[Job]{key: key, set: func(r *reader, n *yaml.Node, j *Job) {
		if s, ok := r.scalar(n, "!!str"); ok && s == "none" {
			*at(j) = task.NoTimeout
		} else if r.duration(n, at(j)) && *at(j) == 0 {
			r.refuse(n, "is 0; use a longer time, or none")
		}
	}, setMS: func(r *reader, n *yaml.Node, j *Job) {
		if r.millis(n, at(j)) && *at(j) == 0 {
			*at(j) = task.NoTimeout
		}
	}, get: func(j *Job) any { return orNil(limit(*at(j))) }}
}

// readSchedule takes a text for a cron expression.
func readSchedule(r *reader, n *yaml.Node, j *Job) {
	s := &j.Row.Schedule
	if n.Kind == yaml.ScalarNode {
		r.text(n, &s.Cron)
		return
	}
	before := len(r.bad)
	read(r, n, "schedule.", scheduleFields(), s, j.lines)
	set := 0
	for _, given := range []bool{s.Cron != "", s.Every != 0, s.After != 0, s.At != 0} {
		if given {
			set++
		}
	}
	switch {
	case len(r.bad) > before:
	case set != 1:
		r.refuse(n, "needs one of cron, every, delay and at")
	case s.Zone != "" && s.Cron == "":
		r.refuse(n, "tz is for cron; remove it")
	}
}

func scheduleFields() []field[task.Schedule] {
	return []field[task.Schedule]{
		text("cron", func(s *task.Schedule) *string { return &s.Cron }),
		{key: "tz", set: func(r *reader, n *yaml.Node, s *task.Schedule) {
			if r.text(n, &s.Zone) {
				r.zone(n, s.Zone)
			}
		}, get: func(s *task.Schedule) any { return orNil(s.Zone) }},
		positive("every", func(s *task.Schedule) *time.Duration { return &s.Every }),
		positive("delay", func(s *task.Schedule) *time.Duration { return &s.After }),
		instant("at", func(s *task.Schedule) *task.Time { return &s.At }),
	}
}

func retryFields() []field[retry.Policy] {
	return []field[retry.Policy]{
		{key: "kind", set: func(r *reader, n *yaml.Node, p *retry.Policy) {
			choice(r, n, &p.Kind, []string{"exponential", "fixed", "list"},
				[]retry.Kind{retry.Exponential, retry.Fixed, retry.List})
		}, get: func(p *retry.Policy) any { return orNil(string(p.Kind)) }},
		wait("delay", func(p *retry.Policy) *int64 { return &p.DelayMS }),
		rate("factor", func(p *retry.Policy) *float64 { return &p.Factor }),
		wait("cap", func(p *retry.Policy) *int64 { return &p.CapMS }),
		rate("jitter_pct", func(p *retry.Policy) *float64 { return &p.JitterPct }),
		wait("jitter", func(p *retry.Policy) *int64 { return &p.JitterMS }),
		wait("budget", func(p *retry.Policy) *int64 { return &p.BudgetMS }),
		{key: "delays", set: func(r *reader, n *yaml.Node, p *retry.Policy) {
			waits(r, n, p, (*reader).duration)
		}, setMS: func(r *reader, n *yaml.Node, p *retry.Policy) {
			waits(r, n, p, (*reader).millis)
		}, get: func(p *retry.Policy) any {
			if len(p.DelaysMS) == 0 {
				return nil
			}
			ds := make([]time.Duration, len(p.DelaysMS))
			for i, v := range p.DelaysMS {
				ds[i] = time.Duration(v) * time.Millisecond
			}
			return ds
		}},
	}
}

// waits reads a list of delays.
func waits(r *reader, n *yaml.Node, p *retry.Policy,
	one func(*reader, *yaml.Node, *time.Duration) bool) {
	if n.Kind != yaml.SequenceNode {
		r.refuse(n, "must be a list of delays")
		return
	}
	for _, x := range n.Content {
		var d time.Duration
		if one(r, x, &d) {
			p.DelaysMS = append(p.DelaysMS, inMillis(r, x, d))
		}
	}
}

func inMillis(r *reader, n *yaml.Node, d time.Duration) int64 {
	if d%time.Millisecond != 0 {
		r.refuse(n, "%s is no whole number of milliseconds", d)
	}
	return d.Milliseconds()
}

// orNil makes nothing of a zero value.
func orNil[V comparable](v V) any {
	if v == *new(V) {
		return nil
	}
	return v
}

func text[T any](key string, at func(*T) *string) field[T] {
	return field[T]{key: key, set: func(r *reader, n *yaml.Node, to *T) { r.text(n, at(to)) },
		get: func(from *T) any { return orNil(*at(from)) }}
}

func span[T any](key string, at func(*T) *time.Duration) field[T] {
	return field[T]{key: key,
		set:   func(r *reader, n *yaml.Node, to *T) { r.duration(n, at(to)) },
		setMS: func(r *reader, n *yaml.Node, to *T) { r.millis(n, at(to)) },
		get:   func(from *T) any { return orNil(*at(from)) }}
}

// positive is a span that means nothing where it is 0.
func positive[T any](key string, at func(*T) *time.Duration) field[T] {
	f := span(key, at)
	checked := func(set func(*reader, *yaml.Node, *T)) func(*reader, *yaml.Node, *T) {
		return func(r *reader, n *yaml.Node, to *T) {
			before := len(r.bad)
			if set(r, n, to); len(r.bad) == before && *at(to) == 0 {
				r.refuse(n, "is 0; use a longer time")
			}
		}
	}
	f.set, f.setMS = checked(f.set), checked(f.setMS)
	return f
}

// wait is a span that is kept in milliseconds.
func wait[T any](key string, at func(*T) *int64) field[T] {
	keep := func(one func(*reader, *yaml.Node, *time.Duration) bool) func(*reader, *yaml.Node, *T) {
		return func(r *reader, n *yaml.Node, to *T) {
			var d time.Duration
			if one(r, n, &d) {
				*at(to) = inMillis(r, n, d)
			}
		}
	}
	return field[T]{key: key, set: keep((*reader).duration), setMS: keep((*reader).millis),
		get: func(from *T) any { return orNil(time.Duration(*at(from)) * time.Millisecond) }}
}

func instant[T any](key string, at func(*T) *task.Time) field[T] {
	return field[T]{key: key, set: func(r *reader, n *yaml.Node, to *T) { r.instant(n, at(to)) },
		get: func(from *T) any {
			if *at(from) == 0 {
				return nil
			}
			return at(from).Go().Format(time.RFC3339Nano)
		}}
}

func rate[T any](key string, at func(*T) *float64) field[T] {
	return field[T]{key: key, set: func(r *reader, n *yaml.Node, to *T) { r.float(n, at(to)) },
		get: func(from *T) any { return orNil(*at(from)) }}
}

func count[T any](key string, at func(*T) *int) field[T] {
	return field[T]{key: key, set: func(r *reader, n *yaml.Node, to *T) { whole(r, n, at(to)) },
		get: func(from *T) any { return orNil(int64(*at(from))) }}
}

func whole(r *reader, n *yaml.Node, to *int) {
	var v int64
	switch {
	case !r.number(n, &v):
	case v < 0 || v > 1<<31-1:
		r.refuse(n, "is %d; use 0 to %d", v, 1<<31-1)
	default:
		*to = int(v)
	}
}
