package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/ax-sched/ax/task"
)

// Row reads the columns of a result row in their order, in binary form. NULL reads as zero. The
// first column of an unexpected width is remembered in Err, so a reader checks once at the end.
type Row struct {
	Cols [][]byte
	Err  error // set by the first column that is not what was asked for

	next int
}

// Col returns the next column as it came, which must have width bytes unless that is 0 or the
// column is NULL. The bytes belong to the connection.
func (r *Row) Col(width int) []byte {
	if r.next >= len(r.Cols) {
		r.fail(width, -1)
		return nil
	}
	c := r.Cols[r.next]
	r.next++
	if c != nil && width > 0 && len(c) != width {
		r.fail(width, len(c))
		return nil
	}
	return c
}

func (r *Row) fail(want, got int) {
	if r.Err == nil {
		r.Err = fmt.Errorf("result column %d has %d bytes, want %d", r.next, got, want)
	}
}

// Int2 reads a smallint.
func (r *Row) Int2() int {
	if c := r.Col(2); c != nil {
		return int(int16(binary.BigEndian.Uint16(c)))
	}
	return 0
}

// Int4 reads an integer.
func (r *Row) Int4() int {
	if c := r.Col(4); c != nil {
		return int(int32(binary.BigEndian.Uint32(c)))
	}
	return 0
}

// Int8 reads a bigint.
func (r *Row) Int8() int64 {
	if c := r.Col(8); c != nil {
		return int64(binary.BigEndian.Uint64(c))
	}
	return 0
}

// Time reads a bigint of microseconds.
func (r *Row) Time() task.Time { return task.Time(r.Int8()) }

// Bool reads a boolean.
func (r *Row) Bool() bool {
	c := r.Col(1)
	return c != nil && c[0] != 0
}

// Text reads a text.
func (r *Row) Text() string { return string(r.Col(0)) }

// Bytes copies, because the buffer belongs to the connection; NULL is nil, ” is not.
func (r *Row) Bytes() []byte {
	c := r.Col(0)
	if c == nil {
		return nil
	}
	return append([]byte{}, c...)
}

// ID reads a uuid.
func (r *Row) ID() (id task.ID) {
	copy(id[:], r.Col(16))
	return id
}

// Int4s reads an integer[] without NULLs.
func (r *Row) Int4s() []int {
	c := r.Col(0)
	if len(c) < 20 {
		return nil // NULL or empty
	}
	n := int(binary.BigEndian.Uint32(c[12:]))
	if len(c) != 20+8*n {
		r.fail(20+8*n, len(c))
		return nil
	}
	out := make([]int, n)
	for i := range out {
		out[i] = int(int32(binary.BigEndian.Uint32(c[24+8*i:])))
	}
	return out
}
