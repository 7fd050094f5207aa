package task

import (
	"bytes"
	"fmt"
	"maps"
	"time"
)

// Job is a named definition that makes tasks.
type Job struct {
	ID       ID
	Name     string
	Version  int64 // grows with each change of the definition, not with fires
	Schedule Schedule
	Kind     string
	Group    string
	Payload  []byte
	Bucket   Bucket
	Overlap  Overlap
	// OverlapKey is what its tasks share with others that must not run at the same time; "" is a key
	// of the job's own.
	OverlapKey string

	Misfire      Misfire
	MisfireGrace time.Duration // how late MisfireSkip still runs a fire; 0: DefaultMisfireGrace
	MisfireCap   int           // how many fires MisfireAll runs at most; 0: DefaultMisfireCap
	Jitter       time.Duration // a fire is due up to this long after its fire time
	StartsAt     Time          // no fire before
	EndsAt       Time          // no fire after; 0: never
	MaxFires     int64         // no fire after so many that were to run; 0: no limit

	MaxRetries   int           // negative: as the kind says
	Timeout      time.Duration // 0: as the kind says; NoTimeout: none
	RetryPolicy  string        // JSON of a retry.Policy; "": as the kind says
	OnUnknown    Unknown       // of its tasks, as are these: see Task
	MaxLateness  time.Duration
	MaxLifetime  time.Duration
	OwnerService string
	Labels       map[string]string

	// Anchor is the instant from which "every" counts; it never moves, also over restarts.
	Anchor Time
	// LastFire is the cursor: the latest fire time that has its record. It never moves back.
	LastFire Time
	// LastTask is the task of the latest fire that was to run, or zero.
	LastTask ID
	// Fires counts the fires that were to run: the rows, not the fire times they stand for, and not
	// those that were recorded as SKIPPED. A new schedule begins at 0.
	Fires     int64
	CreatedAt Time
	UpdatedAt Time
	DeletedAt Time // set when the definition was deleted; its tasks remain

	Control
}

// Control is what persons have said about a job beside its definition: putting the definition again
// leaves it as it is.
type Control struct {
	PausedAt    Time // since when it does not fire; 0: it is not paused
	PausedUntil Time // when it goes on by itself; 0: when somebody resumes it
	PausedBy    string
	PauseReason string

	SkipUntil  Time // the fire of this time does not run: SKIPPED(request)
	SkipBy     string
	SkipReason string
}

// Paused reports whether the job does not fire at an instant.
func (c *Control) Paused(now Time) bool {
	return c.PausedAt != 0 && (c.PausedUntil == 0 || now < c.PausedUntil)
}

// Resolve replaces StoreNow by now, for stores that know the time in Go.
func (c *Control) Resolve(now Time) {
	if c.PausedAt == StoreNow {
		c.PausedAt = now
	}
}

// Same reports whether j and o are equal in what a person writes; nil and empty are the same.
func (j *Job) Same(o *Job) bool {
	return j.sameTimes(o) && j.Kind == o.Kind && j.Group == o.Group &&
		bytes.Equal(j.Payload, o.Payload) && j.Bucket == o.Bucket && j.Overlap == o.Overlap &&
		j.OverlapKey == o.OverlapKey && j.Misfire == o.Misfire &&
		j.MisfireGrace == o.MisfireGrace && j.MisfireCap == o.MisfireCap && j.Jitter == o.Jitter &&
		j.MaxRetries == o.MaxRetries && j.Timeout == o.Timeout &&
		j.RetryPolicy == o.RetryPolicy && j.OnUnknown == o.OnUnknown &&
		j.MaxLateness == o.MaxLateness && j.MaxLifetime == o.MaxLifetime &&
		j.OwnerService == o.OwnerService &&
		maps.Equal(j.Labels, o.Labels)
}

// sameTimes reports whether both have the same fire times.
func (j *Job) sameTimes(o *Job) bool {
	return j.Schedule == o.Schedule && j.StartsAt == o.StartsAt && j.EndsAt == o.EndsAt &&
		j.MaxFires == o.MaxFires
}

// Keep takes over from the row of a definition what putting j in its place leaves as it is. New
// fire times owe nothing of the past: the cursor moves to now, and nothing of them is skipped. A
// new schedule also counts its fires anew.
func (j *Job) Keep(old *Job, now Time) {
	j.ID, j.Version, j.Anchor, j.CreatedAt = old.ID, old.Version, old.Anchor, old.CreatedAt
	j.LastFire, j.LastTask, j.Fires = old.LastFire, old.LastTask, old.Fires
	j.UpdatedAt, j.DeletedAt, j.Control = old.UpdatedAt, 0, old.Control
	if !j.sameTimes(old) {
		j.LastFire = max(j.LastFire, now)
		j.SkipUntil, j.SkipBy, j.SkipReason = 0, "", ""
	}
	if j.Schedule != old.Schedule {
		j.Fires = 0
	}
}

// Schedule says when a job fires; exactly one field is set (Zone belongs to Cron).
type Schedule struct {
	Cron  string        // a cron expression
	Zone  string        // IANA name; "" is UTC
	Every time.Duration // fixed interval from the job's anchor
	After time.Duration // this long after the last fire's task ended
	At    Time          // once
}

// Misfire says what happens to fires that were missed: while nobody scheduled, while the job was
// paused, or because the clock has jumped.
type Misfire uint8

// The misfire policies. The numbers are stored and never change their meaning.
const (
	// MisfireOnce runs the latest of several missed fires; the others are recorded in its row.
	MisfireOnce Misfire = 0
	// MisfireSkip does not run fires that are later than MisfireGrace: one row SKIPPED(misfire)
	// stands for them. Of several that are not, the latest runs and stands for the others.
	MisfireSkip Misfire = 1
	// MisfireAll runs each missed fire in the order of their times, but of more than MisfireCap
	// only the latest: one row SKIPPED(misfire) stands for those before.
	MisfireAll Misfire = 2
)

// Defaults of the misfire policies, and the most fires that MisfireAll may run.
const (
	DefaultMisfireGrace = 5 * time.Second
	DefaultMisfireCap   = 100
	MaxMisfireCap       = 1000
)

// CheckInstant checks an optional instant; the zero time is "not set".
func CheckInstant(field string, t time.Time) error {
	if t.IsZero() || ValidTime(t) {
		return nil
	}
	return &InputError{Field: field, Reason: fmt.Sprintf("is %s; use a time from 1970 to 9999",
		t.UTC().Format(time.RFC3339))}
}
