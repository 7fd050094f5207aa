package trigger

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/task"
)

// span is one record of fires: of the fire at an instant and those since from that it stands for.
type span struct {
	from, at task.Time
	n        int
	why      task.Reason // why they do not run; 0: the one at an instant runs
}

// pending says which records are due at now, in the order of their times. It is the one place where
// misfire policies are: fires that were missed because nobody scheduled, because the job was
// paused, or because a clock has jumped, are all fires between the cursor and now. At least one is
// due. What runs comes last, because a record that does not run names the task before all of them:
// what comes after a fire that is to be skipped may be left for the next call.
func (b *job) pending(now task.Time) []span {
	var out []span
	cursor := b.LastFire
	if at := b.SkipUntil; at > cursor && at <= now && b.due(at-1, at) {
		if b.due(cursor, at-1) { // nobody asked to skip these
			return b.limited(b.missed(nil, cursor, at-1, now))
		}
		s := span{at: at, n: 1, why: task.ByRequest}
		if plant.On(plant.SkipRuns) {
			s.why = 0
		}
		out, cursor = append(out, s), at
	}
	if b.due(cursor, now) {
		out = b.missed(out, cursor, now, now)
	}
	return b.limited(out)
}

// missed applies the misfire policy to the fires after the cursor and not after last.
func (b *job) missed(out []span, cursor, last, now task.Time) []span {
	switch b.Misfire {
	case task.MisfireSkip:
		late := min(last, now.Add(-b.grace())-1) // fires up to it are later than the grace
		if b.due(cursor, late) && !plant.On(plant.MisfireRuns) {
			s := b.collapse(cursor, late)
			s.why = task.Misfired
			out, cursor = append(out, s), s.at
		}
		if !b.due(cursor, last) {
			return out
		}
	case task.MisfireAll:
		return b.each(out, cursor, last)
	}
	return append(out, b.collapse(cursor, last))
}

// each runs the fires after the cursor one by one, the latest ones if they are many.
func (b *job) each(out []span, cursor, now task.Time) []span {
	most := b.MisfireCap
	if most == 0 {
		most = task.DefaultMisfireCap
	}
	if plant.On(plant.MisfireUncapped) {
		most = task.MaxMisfireCap
	}
	if b.plan == nil {
		return append(out, b.collapse(cursor, now))
	}
	last, _ := b.plan.latest(cursor, now)
	var back []task.Time // the latest first
	for at := last; at > cursor && len(back) < most; at = b.plan.prev(at) {
		back = append(back, at)
	}
	if first := back[len(back)-1]; b.due(cursor, first-1) {
		s := b.collapse(cursor, first-1)
		s.why = task.Misfired
		out = append(out, s)
	}
	for i := len(back) - 1; i >= 0; i-- {
		out = append(out, span{at: back[i], n: 1})
	}
	return out
}

// due reports whether a fire lies after the cursor and not after now.
func (b *job) due(cursor, now task.Time) bool {
	if b.plan == nil {
		return cursor < b.next && b.next <= now
	}
	at := b.plan.next(cursor)
	return at != 0 && at <= now
}

// collapse makes one record of all fires after the cursor and not after now; there is one.
func (b *job) collapse(cursor, now task.Time) span {
	if b.plan == nil {
		return span{at: b.next, n: 1}
	}
	last, n := b.plan.latest(cursor, now)
	s := span{at: last, n: n}
	if n > 1 {
		s.from = b.plan.next(cursor)
	}
	return s
}

// limited leaves out what comes after the job's last fire.
func (b *job) limited(out []span) []span {
	if b.MaxFires == 0 {
		return out
	}
	left := b.MaxFires - b.Fires
	for i := range out {
		if out[i].why == 0 {
			left--
		}
		if left == 0 {
			return out[:i+1]
		}
	}
	return out
}

func (b *job) grace() time.Duration {
	if b.MisfireGrace == 0 {
		return task.DefaultMisfireGrace
	}
	return b.MisfireGrace
}

// spread is how long after its fire time a fire is due: the same on every node and after every
// restart, and different for jobs that fire together.
func spread(j *task.Job, at task.Time) time.Duration {
	if j.Jitter == 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write(binary.BigEndian.AppendUint64([]byte(j.Name), uint64(at)))
	x := h.Sum64()
	x ^= x >> 33 // the low bits of the hash alone are not even
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return time.Duration(x%uint64(j.Jitter.Microseconds()+1)) * time.Microsecond
}
