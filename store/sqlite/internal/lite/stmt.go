package lite

import sqlite3 "modernc.org/sqlite/lib"

// Stmt is a prepared statement. Bind what it needs, Step until it says false, and Reset it.
type Stmt struct {
	c  *Conn
	p  uintptr
	rc int32 // of the first bind that failed
}

func (s *Stmt) finalize() {
	sqlite3.Xsqlite3_finalize(s.c.tls, s.p)
	s.p = 0
}

// bound remembers the first bind that failed; Step reports it.
func (s *Stmt) bound(rc int32) {
	if rc != sqlite3.SQLITE_OK && s.rc == sqlite3.SQLITE_OK {
		s.rc = rc
	}
}

// Int binds parameter i, counted from 1.
func (s *Stmt) Int(i int, v int64) {
	s.bound(sqlite3.Xsqlite3_bind_int64(s.c.tls, s.p, int32(i), v))
}

// Null binds NULL.
func (s *Stmt) Null(i int) { s.bound(sqlite3.Xsqlite3_bind_null(s.c.tls, s.p, int32(i))) }

// Text binds a text.
func (s *Stmt) Text(i int, v string) {
	mem, at := s.c.hold(len(v) + 1)
	copy(mem, v)
	s.bound(sqlite3.Xsqlite3_bind_text(s.c.tls, s.p, int32(i), at, int32(len(v)), 0))
	s.lacks(at)
}

// Blob binds bytes; nil is NULL.
func (s *Stmt) Blob(i int, v []byte) {
	if v == nil {
		s.Null(i)
		return
	}
	mem, at := s.c.hold(len(v) + 1)
	copy(mem, v)
	s.bound(sqlite3.Xsqlite3_bind_blob(s.c.tls, s.p, int32(i), at, int32(len(v)), 0))
	s.lacks(at)
}

// lacks notes that there was no memory for a value.
func (s *Stmt) lacks(at uintptr) {
	if at == 0 {
		s.bound(sqlite3.SQLITE_NOMEM)
	}
}

// Step runs the statement to its next row and reports whether there is one.
func (s *Stmt) Step() (bool, error) {
	if s.rc != 0 {
		return false, s.c.fail(s.rc)
	}
	switch rc := sqlite3.Xsqlite3_step(s.c.tls, s.p); rc {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, s.c.fail(rc)
	}
}

// Reset makes the statement ready for the next run. What was bound may no longer be read.
func (s *Stmt) Reset() {
	sqlite3.Xsqlite3_reset(s.c.tls, s.p)
	s.rc = 0
	s.c.release()
}

// Run steps once and resets: for statements without results.
func (s *Stmt) Run() error {
	_, err := s.Step()
	s.Reset()
	return err
}

// ColInt reads column i, counted from 0.
func (s *Stmt) ColInt(i int) int64 { return sqlite3.Xsqlite3_column_int64(s.c.tls, s.p, int32(i)) }

// ColText reads a text; NULL gives "".
func (s *Stmt) ColText(i int) string {
	p := sqlite3.Xsqlite3_column_text(s.c.tls, s.p, int32(i))
	if p == 0 {
		return ""
	}
	return string(bytesAt(p, int(sqlite3.Xsqlite3_column_bytes(s.c.tls, s.p, int32(i)))))
}

// ColBlob copies bytes; NULL gives nil.
func (s *Stmt) ColBlob(i int) []byte {
	p := sqlite3.Xsqlite3_column_blob(s.c.tls, s.p, int32(i))
	n := int(sqlite3.Xsqlite3_column_bytes(s.c.tls, s.p, int32(i)))
	if p == 0 || n == 0 {
		if sqlite3.Xsqlite3_column_type(s.c.tls, s.p, int32(i)) == sqlite3.SQLITE_NULL {
			return nil
		}
		return []byte{}
	}
	return append(make([]byte, 0, n), bytesAt(p, n)...)
}

// CopyBlob copies at most len(b) bytes into b; NULL leaves it alone.
func (s *Stmt) CopyBlob(i int, b []byte) {
	if p := sqlite3.Xsqlite3_column_blob(s.c.tls, s.p, int32(i)); p != 0 {
		copy(b, bytesAt(p, int(sqlite3.Xsqlite3_column_bytes(s.c.tls, s.p, int32(i)))))
	}
}
