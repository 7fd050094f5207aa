// Package lite is SQLite's C interface as far as the store needs it.
//
// database/sql spends more time on converting arguments, on locks and on copying than SQLite does
// on a small update, so the store speaks to the translated library itself. A Conn and its
// statements belong to one goroutine at a time; only Interrupt may be called from another one.
package lite

import (
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Conn is one connection.
type Conn struct {
	tls   *libc.TLS
	db    uintptr
	stmts map[string]*Stmt

	// arena is memory outside the Go heap that holds the texts and blobs bound to the statement
	// under way: SQLite reads them where they are, without another copy.
	arena []byte
	base  uintptr
	used  int
	big   []uintptr // values too large for the arena
}

const arenaSize = 64 << 10

// Open opens or, with create, makes the database file.
func Open(path string, create bool) (*Conn, error) {
	c := &Conn{tls: libc.NewTLS(), stmts: map[string]*Stmt{}}
	name, err := libc.CString(path)
	if err != nil {
		c.tls.Close()
		return nil, err
	}
	defer libc.Xfree(c.tls, name)
	c.base = sqlite3.Xsqlite3_malloc(c.tls, arenaSize)
	out := sqlite3.Xsqlite3_malloc(c.tls, 8)
	if c.base == 0 || out == 0 {
		c.tls.Close()
		return nil, &Error{Code: sqlite3.SQLITE_NOMEM, Text: "out of memory"}
	}
	defer sqlite3.Xsqlite3_free(c.tls, out)
	c.arena = bytesAt(c.base, arenaSize)
	flags := int32(sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_NOMUTEX)
	if create {
		flags |= sqlite3.SQLITE_OPEN_CREATE
	}
	rc := sqlite3.Xsqlite3_open_v2(c.tls, name, out, flags, 0)
	c.db = *(*uintptr)(pointer(out))
	if rc != sqlite3.SQLITE_OK {
		err := c.fail(rc)
		c.Close()
		return nil, err
	}
	sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	return c, nil
}

// pointer turns an address of the C side into a pointer. The memory lies outside the Go heap.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

func bytesAt(p uintptr, n int) []byte { return unsafe.Slice((*byte)(pointer(p)), n) }

// Close ends the statements and the connection.
func (c *Conn) Close() error {
	for _, s := range c.stmts {
		s.finalize()
	}
	c.stmts = nil
	var err error
	if rc := sqlite3.Xsqlite3_close(c.tls, c.db); rc != sqlite3.SQLITE_OK {
		err = c.fail(rc)
	}
	c.release()
	sqlite3.Xsqlite3_free(c.tls, c.base)
	c.tls.Close()
	return err
}

// Stmt returns the prepared statement of a query; it is prepared once for the connection.
func (c *Conn) Stmt(query string) (*Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, _, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

func (c *Conn) prepare(query string) (s *Stmt, rest string, err error) {
	zs, err := libc.CString(query)
	if err != nil {
		return nil, "", err
	}
	defer libc.Xfree(c.tls, zs)
	out := sqlite3.Xsqlite3_malloc(c.tls, 16)
	if out == 0 {
		return nil, "", &Error{Code: sqlite3.SQLITE_NOMEM, Text: "out of memory"}
	}
	defer sqlite3.Xsqlite3_free(c.tls, out)
	rc := sqlite3.Xsqlite3_prepare_v2(c.tls, c.db, zs, -1, out, out+8)
	if rc != sqlite3.SQLITE_OK {
		return nil, "", c.fail(rc)
	}
	p := *(*uintptr)(pointer(out))
	tail := *(*uintptr)(pointer(out + 8))
	return &Stmt{c: c, p: p}, query[tail-zs:], nil
}

// Exec runs statements without arguments and results one after the other.
func (c *Conn) Exec(script string) error {
	for script != "" {
		s, rest, err := c.prepare(script)
		if err != nil {
			return err
		}
		script = rest
		if s.p == 0 {
			continue // blanks and comments
		}
		for more := true; more && err == nil; {
			more, err = s.Step()
		}
		s.finalize()
		if err != nil {
			return err
		}
	}
	return nil
}

// Changes is the number of rows that the last statement changed.
func (c *Conn) Changes() int { return int(sqlite3.Xsqlite3_changes(c.tls, c.db)) }

// TotalChanges counts the rows changed since the connection was opened; it may wrap.
func (c *Conn) TotalChanges() int32 { return sqlite3.Xsqlite3_total_changes(c.tls, c.db) }

// Interrupt makes the statement under way fail with SQLITE_INTERRUPT. It is the only method for
// another goroutine; the connection must stay open meanwhile.
func (c *Conn) Interrupt() {
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3.Xsqlite3_interrupt(tls, c.db)
}

// InTransaction reports whether a transaction is open.
func (c *Conn) InTransaction() bool { return sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

func (c *Conn) fail(rc int32) error {
	e := &Error{Code: int(rc)}
	if c.db != 0 {
		e.Text = libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db))
	} else {
		e.Text = libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, rc))
	}
	return e
}

func (c *Conn) hold(n int) (mem []byte, at uintptr) {
	if c.used+n <= len(c.arena) {
		mem, at = c.arena[c.used:c.used+n], c.base+uintptr(c.used)
		c.used += n
		return mem, at
	}
	at = sqlite3.Xsqlite3_malloc(c.tls, int32(n))
	if at == 0 {
		return nil, 0
	}
	c.big = append(c.big, at)
	return bytesAt(at, n), at
}

func (c *Conn) release() {
	c.used = 0
	for _, p := range c.big {
		sqlite3.Xsqlite3_free(c.tls, p)
	}
	c.big = c.big[:0]
}
