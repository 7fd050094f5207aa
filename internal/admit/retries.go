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
	turn    task.Time // of the last retry that was put off
	delayed int64
}

// attempts are those of one second.
type attempts struct{ first, again int }

// First counts a first attempt.
func (r *Retries) First(now task.Time) {
	r.roll(now)
	r.add(now, attempts{first: 1})
}

// Again reports whether a retry may start now, and counts it. If not, at is when it should be tried
// again: those that wait are spread over the time to come.
func (r *Retries) Again(now task.Time) (at task.Time, ok bool) {
	r.roll(now)
	most := r.most()
	if r.Rate < 0 || r.sum.again < most {
		r.add(now, attempts{again: 1})
		return 0, true
	}
	r.delayed++
	r.turn = max(r.turn, now).Add(time.Minute / time.Duration(max(most, 1)))
	return r.turn, false
}

// Delayed returns how often a retry was put off.
func (r *Retries) Delayed() int64 { return r.delayed }

func (r *Retries) most() int {
	rate := r.Rate
	if rate == 0 {
		rate = DefaultRetryRate
	}
	return rate + r.sum.first/retryShare
}

func (r *Retries) add(now task.Time, a attempts) {
	c := &r.counts[second(now)%span]
	c.first += a.first
	c.again += a.again
	r.sum.first += a.first
	r.sum.again += a.again
}

// roll forgets what is older than a minute. A clock that steps back makes it forget nothing.
func (r *Retries) roll(now task.Time) {
	s := second(now)
	for n := 0; r.second < s && n < span; n++ {
		r.second++
		if s-r.second >= span {
			r.second = s - span + 1
		}
		c := &r.counts[r.second%span]
		r.sum.first -= c.first
		r.sum.again -= c.again
		*c = attempts{}
	}
}

func second(t task.Time) int64 { return max(int64(t), 0) / int64(time.Second/time.Microsecond) }
