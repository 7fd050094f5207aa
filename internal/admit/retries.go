package admit

import (
	"time"

	"github.com/ax-sched/ax/task"
)

// DefaultRetryRate is how many retries a minute are let through whatever else happens.
const DefaultRetryRate = 1000

// retryShare is how many first attempts allow one retry more.
const retryShare = 10

// span is the time over which attempts are counted, in steps of a second.
const span = 60

// Retries keeps retries from piling onto what is failing already: within any minute there are at
// most Rate of them and one for each ten first attempts. What is over that waits and is not lost.
// Recoveries after a crash are no retries. It is pure and not safe for concurrent use.
type Retries struct {
	Rate int // a minute; 0 is DefaultRetryRate, negative is no limit

	second  int64 // the latest that was counted
	counts  [span]attempts
	sum     attempts  // of all counts
	turn    task.Time // of the last one that was put off beyond the places of this minute
	delayed int64
}

// attempts are those of one second.
type attempts struct {
	first, again int
	next         int // retries that were put off until this second leaves the minute
}

// First counts a first attempt.
func (r *Retries) First(now task.Time) {
	r.roll(now)
	r.add(now, 1, 0)
}

// Again reports whether a retry may start now, and counts it. If not, at is when there is room for
// it: those that are put off have their turns in the order in which they came.
func (r *Retries) Again(now task.Time) (at task.Time, ok bool) {
	r.roll(now)
	if r.Rate < 0 || r.sum.again < r.most() {
		r.add(now, 0, 1)
		return 0, true
	}
	r.delayed++
	for s := r.second - span + 1; s <= r.second; s++ {
		if c := &r.counts[mod(s)]; c.next < c.again {
			c.next++
			return task.Time((s + span) * int64(time.Second/time.Microsecond)), false
		}
	}
	r.turn = max(r.turn, now.Add(time.Minute)).Add(time.Minute / time.Duration(max(r.most(), 1)))
	return r.turn, false
}

// Undo takes back what was counted a moment ago for an attempt that does not start after all.
func (r *Retries) Undo(now task.Time, first bool) {
	r.roll(now)
	if first {
		r.add(now, -1, 0)
		return
	}
	r.add(now, 0, -1)
}

// Delayed returns how often a retry was put off.
func (r *Retries) Delayed() int64 { return r.delayed }

func (r *Retries) most() int {
	rate := r.Rate
	if rate == 0 {
		rate = DefaultRetryRate
	}
	return rate + max(r.sum.first, 0)/retryShare
}

func (r *Retries) add(now task.Time, first, again int) {
	c := &r.counts[mod(min(second(now), r.second))]
	c.first += first
	c.again += again
	r.sum.first += first
	r.sum.again += again
}

// maxBack is how far the clock may go back, in seconds, without all that was counted being
// forgotten: after a larger step nobody knows how long ago it was.
const maxBack = 2

// roll forgets what is older than a minute.
func (r *Retries) roll(now task.Time) {
	s := second(now)
	if s < r.second-maxBack || s >= r.second+span {
		*r = Retries{Rate: r.Rate, delayed: r.delayed, second: s}
	}
	for r.second < s {
		r.second++
		c := &r.counts[mod(r.second)]
		r.sum.first -= c.first
		r.sum.again -= c.again
		*c = attempts{}
	}
}

func second(t task.Time) int64 { return max(int64(t), 0) / int64(time.Second/time.Microsecond) }

// mod is the place of a second that may lie before 1970.
func mod(s int64) int64 { return (s%span + span) % span }
