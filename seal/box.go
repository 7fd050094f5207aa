package seal

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Binding is what a sealed value is bound to: opened as anything else it is damaged. It is not
// bound to one task, because the tasks of a job take over the payload of the job as it stands.
type Binding struct {
	use  byte
	kind string
}

// Payload is the payload of tasks and jobs of a kind.
func Payload(kind string) Binding { return Binding{'P', kind} }

// Result is the result of a task of a kind.
func Result(kind string) Binding { return Binding{'R', kind} }

// Box seals with one key and opens with all that it has. A nil *Box seals nothing, and opens what
// is not sealed. All methods are safe for concurrent use. It never prints a secret.
type Box struct {
	primary *cipherKey
	keys    map[string]*cipherKey
	strict  bool
}

// New returns a Box that seals with primary and opens with all the keys. It keeps no reference to
// their secrets. The error names each key that cannot be used by its place, 0 for primary.
func New(primary Key, older ...Key) (*Box, error) {
	b := &Box{keys: make(map[string]*cipherKey, 1+len(older))}
	var errs []error
	for i, k := range append([]Key{primary}, older...) {
		c, err := newCipherKey(k)
		if err == nil && b.keys[k.ID] != nil {
			err = errDoubleID
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("key %d: %w", i, err))
			continue
		}
		b.keys[k.ID] = c
		if i == 0 {
			b.primary = c
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("seal.New: %w", errors.Join(errs...))
	}
	return b, nil
}

// Strict returns a Box with the same keys that opens no value that is not sealed: [ErrNotSealed].
// Use it when no row from before is left. Empty values are never sealed and always pass.
func (b *Box) Strict() *Box {
	if b == nil {
		return nil
	}
	s := *b
	s.strict = true
	return &s
}

// KeyIDs returns the ids of the keys, that of the key that seals first.
func (b *Box) KeyIDs() []string {
	if b == nil {
		return nil
	}
	ids := []string{b.primary.id}
	for _, id := range slices.Sorted(maps.Keys(b.keys)) {
		if id != b.primary.id {
			ids = append(ids, id)
		}
	}
	return ids
}

// Format prints the ids of the keys, whatever the verb.
func (b *Box) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "seal.Box("+strings.Join(b.KeyIDs(), " ")+")")
}

// Seal seals a value. The result shares nothing with plain; an empty value stays as it is.
func (b *Box) Seal(to Binding, plain []byte) []byte {
	if b == nil || len(plain) == 0 {
		return bytes.Clone(plain)
	}
	var nonce [nonceSize]byte
	_, _ = rand.Read(nonce[:]) // it ends the program rather than fail
	return b.primary.seal(to, &nonce, plain)
}

// SealSame seals as Seal does, but the same value under the same name, binding and key gives the
// same bytes: who sees them sees whether the value was changed, and nothing else. It is for
// definitions that are put again and again and must not seem to change.
//
// The nonce is HMAC-SHA256, under a key of its own, of everything that goes into the encryption, so
// two different values have the same nonce as rarely as two random ones.
func (b *Box) SealSame(to Binding, name string, plain []byte) []byte {
	if b == nil || len(plain) == 0 {
		return bytes.Clone(plain)
	}
	nonce := b.primary.nonceOf(to, name, plain)
	return b.primary.seal(to, &nonce, plain)
}

// nonceOf derives a nonce. The lengths keep the parts apart.
func (c *cipherKey) nonceOf(to Binding, name string, plain []byte) (nonce [nonceSize]byte) {
	h := hmac.New(sha256.New, c.nonces)
	var n [8]byte
	for _, part := range [][]byte{[]byte(name), c.additional(to), plain} {
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	copy(nonce[:], h.Sum(nil))
	return nonce
}

// Reveal is Open for people: what it cannot open it returns as it is. [KeyID] tells why.
func (b *Box) Reveal(to Binding, value []byte) []byte {
	if p, err := b.Open(to, value); err == nil {
		return p
	}
	return value
}

// Open returns the plaintext of a value. One that is not sealed is returned as it is, unless the
// Box is strict. The errors are a *[KeyError], which another process or a later version of this one
// may not have; [ErrDamaged]; [ErrNotSealed]; and one for a form that only a newer ax knows.
func (b *Box) Open(to Binding, value []byte) ([]byte, error) {
	if !Sealed(value) {
		if b != nil && b.strict && len(value) > 0 {
			return nil, ErrNotSealed
		}
		return value, nil
	}
	if len(value) > len(magic) && value[len(magic)] != version {
		return nil, errNewer
	}
	id, rest, ok := cutHeader(value)
	if !ok || len(rest) < nonceSize {
		return nil, ErrDamaged
	}
	if b == nil || b.keys[id] == nil {
		return nil, &KeyError{ID: id}
	}
	return b.keys[id].open(to, [nonceSize]byte(rest), rest[nonceSize:])
}
