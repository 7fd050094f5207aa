package sim

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// dice is a source of choices.
type dice struct{ *rand.Rand }

// roll returns the dice of a purpose: the same words under the same seed give the same choices,
// whatever happens elsewhere.
func roll(seed uint64, words ...any) dice {
	h := fnv.New64a()
	fmt.Fprint(h, words...)
	return dice{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// chance is true with probability p.
func (d dice) chance(p float64) bool { return d.Float64() < p }

// between is an even choice from [lo, hi].
func (d dice) between(lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(d.Int64N(int64(hi-lo)+1))
}

// about is exponential around a mean, so mostly short and sometimes long.
func (d dice) about(mean time.Duration) time.Duration {
	return min(time.Duration(d.ExpFloat64()*float64(mean)), 8*mean)
}

// oneOf picks one.
func oneOf[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }
