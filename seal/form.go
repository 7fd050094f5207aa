package seal

import (
	"bytes"
	"errors"
	"fmt"
)

const (
	// magic begins with a byte that no text in UTF-8 has.
	magic   = "\xffaxseal"
	version = '1'
	idStart = len(magic) + 2 // the version and a space are between
	maxID   = 64

	nonceSize = 24
	tagSize   = 16

	// MaxOverhead is how many bytes a sealed value has more than its plaintext at most.
	MaxOverhead = idStart + maxID + 1 + nonceSize + tagSize
)

var (
	// ErrDamaged: the value is not what was sealed for this use and this kind under the key that
	// it names. No retry can help.
	ErrDamaged = errors.New("the sealed value is damaged, or was sealed for something else")
	// ErrNotSealed: a strict [Box] met a value that is not sealed.
	ErrNotSealed = errors.New("the value is not sealed, and Strict wants it to be")

	errNewer = errors.New("the value is sealed in a newer form; update this program")
)

// KeyError says that a value is sealed with a key that is not here.
type KeyError struct{ ID string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("sealed with key %q, which this process does not have", e.ID)
}

// Sealed reports whether a value is sealed. It is decided by how it begins.
func Sealed(value []byte) bool { return bytes.HasPrefix(value, []byte(magic)) }

// KeyID returns the id of the key with which a value is sealed, or false if it is not sealed or its
// beginning is damaged.
func KeyID(value []byte) (string, bool) {
	id, _, ok := cutHeader(value)
	return id, ok
}

// header is what a value begins with that is sealed with a key.
func header(id string) string { return magic + string(version) + " " + id + "\n" }

// cutHeader returns the key id of a sealed value, and what follows its header.
func cutHeader(value []byte) (id string, rest []byte, ok bool) {
	after, ok := bytes.CutPrefix(value, []byte(magic+string(version)+" "))
	if !ok {
		return "", nil, false
	}
	end := bytes.IndexByte(after[:min(len(after), maxID+1)], '\n')
	if end < 0 || checkID(string(after[:end])) != nil {
		return "", nil, false
	}
	return string(after[:end]), after[end+1:], true
}
