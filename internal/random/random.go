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
	mu sync.Mutex
	r  *rand.Rand
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

// ID makes an id of this millisecond.
func (s *Source) ID(unixMilli int64) task.ID {
	var b [16]byte
	s.mu.Lock()
	binary.LittleEndian.PutUint64(b[:8], s.r.Uint64())
	binary.LittleEndian.PutUint64(b[8:], s.r.Uint64())
	s.mu.Unlock()
	return task.NewID(unixMilli, [10]byte(b[:10]))
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
