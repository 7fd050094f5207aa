package sqlite

import "github.com/ax-sched/ax/store/sqlite/internal/lite"

// MaxPages bounds the size of the file, so that a test can fill it.
func MaxPages(n int64) Option { return func(o *options) { o.maxPages = n } }

// WriterPragma reads a setting of the writing connection.
func (s *Store) WriterPragma(name string) (n int64, err error) {
	return number(s.writer.conn, "PRAGMA "+name)
}

func number(c *lite.Conn, query string) (n int64, err error) {
	_, err = one(c, query, nothing, func(q *lite.Stmt) { n = q.ColInt(0) })
	return n, err
}

// WriterExec runs a script on the writing connection, outside of any transaction.
func (s *Store) WriterExec(script string) error { return s.writer.conn.Exec(script) }

// Waiting is the number of calls that wait for their turn.
func (s *Store) Waiting() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.urgent) + len(s.writer.usual)
}

// Foreign is a connection as another process would have it.
type Foreign = lite.Conn

// OpenForeign opens a second connection to a file.
func OpenForeign(path string) (*Foreign, error) { return lite.Open(path, true) }
