// Package random is the one source of randomness of a scheduler: ids, names and jitter.
package random

import (
	crand "crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/ax-sched/ax/task"
)

// Source is safe for concurrent use. A seed makes it repeatable.
type Source struct {
	mu   sync.Mutex
	r    *rand.Rand
	last bits // of the last id
}

// New returns a source with a seed, or one seeded by the system if seed is 0.
func New(seed uint64) *Source {
	var key [32]byte
	if seed == 0 {
		crand.Read(key[:]) // never fails, see crypto/rand
	} else {
		binary.LittleEndian.PutUint64(key[:], seed)
	}
	return &Source{r: rand.New(rand.NewChaCha8(key))}
}

// Float returns a number in [0,1).
func (s *Source) Float() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Float64()
}

// ID makes an id of this millisecond, larger than the one before it: what was made later is later
// in the order of ids, also within a millisecond and after a small step back of the clock (RFC
// 9562, 6.2, method 2). The distance of two is random, so that none can be guessed from another.
func (s *Source) ID(unixMilli int64) task.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := &s.last; unixMilli > l.milli || l.milli-unixMilli > stepBack {
		*l = bits{unixMilli, s.r.Uint64() % (1 << 12), s.r.Uint64() % (1 << 62)}
	} else {
		l.add(s.r.Uint64()%(1<<44) + 1<<32)
	}
	return s.last.id()
}

// stepBack is how far the clock may go back, in milliseconds, without ids following it.
const stepBack = 10_000

// bits are the parts of an id: its time, and 12 and 62 random bits.
type bits struct {
	milli  int64
	hi, lo uint64
}

func (b *bits) add(n uint64) {
	b.lo += n
	b.hi += b.lo >> 62
	b.milli += int64(b.hi >> 12)
	b.hi, b.lo = b.hi%(1<<12), b.lo%(1<<62)
}

func (b *bits) id() task.ID {
	var r [10]byte
	binary.BigEndian.PutUint16(r[:2], uint16(b.hi))
	binary.BigEndian.PutUint64(r[2:], b.lo)
	return task.NewID(b.milli, r)
}

// Token returns eight characters that no two starts of a process share.
func (s *Source) Token() string {
	var b [5]byte
	s.mu.Lock()
	v := s.r.Uint64()
	s.mu.Unlock()
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}
