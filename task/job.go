package task

import "time"

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
	Misfire  Misfire

	MaxRetries   int           // negative: as the kind says
	Timeout      time.Duration // 0: as the kind says; NoTimeout: none
	RetryPolicy  string        // JSON of a retry.Policy; "": as the kind says
	OwnerService string
	Labels       map[string]string

	// Anchor is the instant from which "every" counts; it never moves, also over restarts.
	Anchor Time
	// LastFire is the cursor: the latest fire time that has its record. It never moves back.
	LastFire Time
	// LastTask is the task of the latest fire, or zero.
	LastTask  ID
	CreatedAt Time
	UpdatedAt Time
	DeletedAt Time // set when the definition was deleted; its tasks remain
}

// Schedule says when a job fires; exactly one field is set (Zone belongs to Cron).
type Schedule struct {
	Cron  string        // a cron expression
	Zone  string        // IANA name; "" is UTC
	Every time.Duration // fixed interval from the job's anchor
	After time.Duration // this long after the last fire's task ended
	At    Time          // once
}

// Misfire says what happens to fires that were missed while nobody scheduled.
type Misfire uint8

// MisfireOnce runs the latest of several missed fires; the others are recorded in its row.
const MisfireOnce Misfire = 0
