package task

import (
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"
)

// ID identifies a task, a job or an execution. It is a UUIDv7 (RFC 9562): made by the client, so
// that an insert whose answer was lost can be repeated with the same id, and ordered by time, so
// that new rows touch one leaf of an index. The zero ID means "none".
type ID [16]byte

// NewID builds a UUIDv7 from a time in milliseconds since 1970 and 74 random bits taken from rnd.
// It is pure so that a simulation can repeat it; package ax owns the source of randomness.
func NewID(unixMilli int64, rnd [10]byte) ID {
	var id ID
	binary.BigEndian.PutUint64(id[:8], uint64(unixMilli)<<16)
	copy(id[6:], rnd[:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

// ParseID reads the text form made by String.
func ParseID(s string) (ID, error) {
	u, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return ID{}, fmt.Errorf("id %q: want a UUID such as 0197f3a2-7c1e-7b6a-9f00-1b2c3d4e5f60", s)
	}
	return ID(u), nil
}

// String returns the usual 36 characters; the zero ID gives "".
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	return uuid.UUID(id).String()
}

// IsZero reports whether id is "none".
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText makes ids strings in JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText accepts what MarshalText wrote; an empty text is the zero ID.
func (id *ID) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*id = ID{}
		return nil
	}
	v, err := ParseID(string(b))
	if err == nil {
		*id = v
	}
	return err
}
