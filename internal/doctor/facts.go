package doctor

import (
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Facts is what was read from a database.
type Facts struct {
	Now        task.Time // the store's clock
	Clock      Offset
	Leader     lease.Holding
	Known      bool // somebody could be asked who leads
	Members    []registry.Member
	Kinds      []task.Kind
	Jobs       []Job // those that are not deleted
	Waiting    []Waiting
	Live       []task.Task
	Held       []task.Task // the newest
	Dead       []task.Task // the newest
	Skipped    []task.Task // the newest
	Retrying   []task.Task // that wait for their next attempt
	Recent     []task.Task // the newest, in whatever state
	Histories  [][]task.Entry
	Inspection store.Inspection

	// Unread are things that could not be read, each with its error.
	Unread []error
	// Capped are things that were not read to their end, in words.
	Capped []string
}

// Offset is how far the store's clock is from that of this host.
type Offset struct {
	By    time.Duration // positive: the store's is ahead
	Error time.Duration // By is right up to so much
}

// Job is a definition and its latest fires, the newest first. They are read only where the last
// one has not gone well.
type Job struct {
	task.Job
	Last []task.Task
}

// Waiting is the head of one queue: what is due, the earliest first.
type Waiting struct {
	Group  string
	Bucket task.Bucket
	Due    []store.Due
	// Moved are those of Due that were gone a moment later, if somebody looked again.
	Moved map[task.ID]bool
	// Keys are the overlap keys of the first of Due.
	Keys map[task.ID]string
}

// busyKeys returns the overlap keys that a task holds.
func (f *Facts) busyKeys() map[string]bool {
	out := map[string]bool{}
	for _, t := range f.tasks() {
		if t.HoldsKey() {
			out[t.OverlapKey] = true
		}
	}
	return out
}

// tasks returns all tasks that were read, each once.
func (f *Facts) tasks() []task.Task {
	var out []task.Task
	seen := map[task.ID]bool{}
	for _, part := range [][]task.Task{f.Live, f.Held, f.Dead, f.Retrying, f.Recent} {
		for _, t := range part {
			if !seen[t.ID] {
				seen[t.ID] = true
				out = append(out, t)
			}
		}
	}
	return out
}
