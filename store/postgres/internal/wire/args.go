// Package wire is what the store needs below its statements: it dials, and writes the parameters of
// statements and reads their results in the binary form of the protocol; on connections of callers
// ([Caller]), whose driver may be any, as texts.
package wire

import (
	"encoding/binary"

	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5/pgtype"
)

// Args are the parameters of one statement in PostgreSQL's binary form. They are written here and
// not by pgx because a batch has up to 53 arrays of 1,000 elements, and a reflective encoder costs
// more than the rest of the client together.
//
// An array whose elements are all "not set" is sent empty: a subscript beyond the end of an array
// is NULL, so what most rows do not have costs nothing.
type Args struct {
	Vals [][]byte
	OIDs []uint32
	buf  []byte
}

// Binary as the only format code stands for all columns.
var Binary = []int16{1}

// NewArgs makes room for so many parameters of so many bytes in all; both grow when needed. The
// zero Args is usable too.
func NewArgs(params, bytes int) Args {
	return Args{Vals: make([][]byte, 0, params), OIDs: make([]uint32, 0, params),
		buf: make([]byte, 0, bytes)}
}

// end makes what was appended since from the next parameter. A later append may move the buffer;
// the bytes that the parameter points to stay as they are.
func (a *Args) end(oid uint32, from int) {
	v := a.buf[from:len(a.buf):len(a.buf)]
	if v == nil {
		v = []byte{} // nil is NULL
	}
	a.Vals = append(a.Vals, v)
	a.OIDs = append(a.OIDs, oid)
}

func (a *Args) null(oid uint32) {
	a.Vals = append(a.Vals, nil)
	a.OIDs = append(a.OIDs, oid)
}

// Int2 sends a smallint.
func (a *Args) Int2(v int16) {
	from := len(a.buf)
	a.buf = binary.BigEndian.AppendUint16(a.buf, uint16(v))
	a.end(pgtype.Int2OID, from)
}

// Int4 sends an integer.
func (a *Args) Int4(v int) {
	from := len(a.buf)
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(v))
	a.end(pgtype.Int4OID, from)
}

// Int8 sends a bigint.
func (a *Args) Int8(v int64) {
	from := len(a.buf)
	a.buf = binary.BigEndian.AppendUint64(a.buf, uint64(v))
	a.end(pgtype.Int8OID, from)
}

// Bool sends a boolean.
func (a *Args) Bool(v bool) {
	from := len(a.buf)
	a.buf = append(a.buf, flag(v))
	a.end(pgtype.BoolOID, from)
}

// Text sends a text.
func (a *Args) Text(s string) {
	from := len(a.buf)
	a.buf = append(a.buf, s...)
	a.end(pgtype.TextOID, from)
}

// TextOrNull sends the empty text as NULL.
func (a *Args) TextOrNull(s string) {
	if s == "" {
		a.null(pgtype.TextOID)
		return
	}
	a.Text(s)
}

// Int8OrNull sends 0 as NULL.
func (a *Args) Int8OrNull(v int64) {
	if v == 0 {
		a.null(pgtype.Int8OID)
		return
	}
	a.Int8(v)
}

// Bytes sends nil as NULL.
func (a *Args) Bytes(b []byte) {
	if b == nil {
		a.null(pgtype.ByteaOID)
		return
	}
	from := len(a.buf)
	a.buf = append(a.buf, b...)
	a.end(pgtype.ByteaOID, from)
}

// ID sends the zero ID as NULL.
func (a *Args) ID(id task.ID) {
	if id.IsZero() {
		a.null(pgtype.UUIDOID)
		return
	}
	from := len(a.buf)
	a.buf = append(a.buf, id[:]...)
	a.end(pgtype.UUIDOID, from)
}

// begin begins an array and returns where its header is.
func (a *Args) begin(elem uint32, n int) int {
	from := len(a.buf)
	a.buf = binary.BigEndian.AppendUint32(a.buf, 1) // dimensions
	a.buf = binary.BigEndian.AppendUint32(a.buf, 0) // set to 1 by mark if there is a NULL
	a.buf = binary.BigEndian.AppendUint32(a.buf, elem)
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(n))
	a.buf = binary.BigEndian.AppendUint32(a.buf, 1) // lower bound
	return from
}

// absent appends a NULL element.
func (a *Args) absent() { a.buf = append(a.buf, 0xff, 0xff, 0xff, 0xff) }

// close ends the array that began at from. If nothing in it is set, it becomes the empty array.
func (a *Args) close(oid uint32, from int, set, nulls bool) {
	switch {
	case !set:
		elem := binary.BigEndian.Uint32(a.buf[from+8:])
		a.buf = binary.BigEndian.AppendUint32(a.buf[:from], 0)
		a.buf = binary.BigEndian.AppendUint32(a.buf, 0)
		a.buf = binary.BigEndian.AppendUint32(a.buf, elem)
	case nulls:
		a.buf[from+7] = 1
	}
	a.end(oid, from)
}

// Int2s sends n elements as smallint[].
func (a *Args) Int2s(n int, at func(i int) int) {
	from, set := a.begin(pgtype.Int2OID, n), 0
	for i := range n {
		v := at(i)
		set |= v
		a.buf = append(a.buf, 0, 0, 0, 2, byte(v>>8), byte(v))
	}
	a.close(pgtype.Int2ArrayOID, from, set != 0, false)
}

// Int4s sends n elements as integer[].
func (a *Args) Int4s(n int, at func(i int) int) {
	from, set := a.begin(pgtype.Int4OID, n), 0
	for i := range n {
		v := at(i)
		set |= v
		a.buf = append(a.buf, 0, 0, 0, 4, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	a.close(pgtype.Int4ArrayOID, from, set != 0, false)
}

// Int8s sends n elements as bigint[].
func (a *Args) Int8s(n int, at func(i int) int64) {
	from, set := a.begin(pgtype.Int8OID, n), int64(0)
	for i := range n {
		v := at(i)
		set |= v
		a.buf = append(a.buf, 0, 0, 0, 8)
		a.buf = binary.BigEndian.AppendUint64(a.buf, uint64(v))
	}
	a.close(pgtype.Int8ArrayOID, from, set != 0, false)
}

// Bools sends n elements as boolean[].
func (a *Args) Bools(n int, at func(i int) bool) {
	from, set := a.begin(pgtype.BoolOID, n), false
	for i := range n {
		v := at(i)
		set = set || v
		a.buf = append(a.buf, 0, 0, 0, 1, flag(v))
	}
	a.close(pgtype.BoolArrayOID, from, set, false)
}

// IDs sends zero IDs as NULL.
func (a *Args) IDs(n int, at func(i int) task.ID) {
	from, set, nulls := a.begin(pgtype.UUIDOID, n), false, false
	for i := range n {
		id := at(i)
		if id.IsZero() {
			nulls = true
			a.absent()
			continue
		}
		set = true
		a.buf = append(a.buf, 0, 0, 0, 16)
		a.buf = append(a.buf, id[:]...)
	}
	a.close(pgtype.UUIDArrayOID, from, set, nulls)
}

// Texts sends empty texts as NULL.
func (a *Args) Texts(n int, at func(i int) string) {
	from, set, nulls := a.begin(pgtype.TextOID, n), false, false
	for i := range n {
		s := at(i)
		if s == "" {
			nulls = true
			a.absent()
			continue
		}
		set = true
		a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(len(s)))
		a.buf = append(a.buf, s...)
	}
	a.close(pgtype.TextArrayOID, from, set, nulls)
}

// Words sends texts that repeat within a batch: each row has the place of its text in the
// dictionary, and none for an empty one. Reading the n-th element of an array of texts walks over
// those before it, so an array of as many texts as rows costs the square of them.
func (a *Args) Words(d *Dictionary, n int, at func(i int) string) {
	last, place := "", 0
	a.Int4s(n, func(i int) int {
		if s := at(i); s != last {
			last, place = s, d.place(s)
		}
		return place
	})
}

// Dictionary lists the different texts of one batch.
type Dictionary struct {
	words  []string
	places map[string]int
}

// place returns where s is, from 1; 0 for the empty text.
func (d *Dictionary) place(s string) int {
	if s == "" {
		return 0
	}
	if p, ok := d.places[s]; ok {
		return p
	}
	if d.places == nil {
		d.places = make(map[string]int)
	}
	d.words = append(d.words, s)
	d.places[s] = len(d.words)
	return len(d.words)
}

// Dictionary sends the words.
func (a *Args) Dictionary(d *Dictionary) {
	a.Texts(len(d.words), func(i int) string { return d.words[i] })
}

// Byteas sends nil as NULL and keeps empty slices apart from it.
func (a *Args) Byteas(n int, at func(i int) []byte) {
	from, set, nulls := a.begin(pgtype.ByteaOID, n), false, false
	for i := range n {
		b := at(i)
		if b == nil {
			nulls = true
			a.absent()
			continue
		}
		set = true
		a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(len(b)))
		a.buf = append(a.buf, b...)
	}
	a.close(pgtype.ByteaArrayOID, from, set, nulls)
}

// Places sends 1 to n: what a statement walks to read the other arrays.
func (a *Args) Places(n int) { a.Int4s(n, func(i int) int { return i + 1 }) }

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// IDOrFirst sends the zero ID as itself: it comes before all others.
func (a *Args) IDOrFirst(id task.ID) {
	from := len(a.buf)
	a.buf = append(a.buf, id[:]...)
	a.end(pgtype.UUIDOID, from)
}
