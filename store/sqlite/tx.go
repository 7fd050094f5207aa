package sqlite

import (
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// tx is one write transaction, shared by the calls of a group.
type tx struct {
	conn *lite.Conn
	now  task.Time // the one statement of time

	// The last numbers given to tasks and history rows; 0 until the first is needed.
	n, h int64

	// known are rows that this process wrote last; it saves a claim or an outcome the search.
	known map[task.ID]found
}

// knownRows bounds the cache: some megabytes.
const knownRows = 1 << 15

// know remembers a row as it is now. Final rows are seldom touched again.
func (t *tx) know(id task.ID, r *found) {
	if r.state.Final() {
		delete(t.known, id)
		return
	}
	if len(t.known) >= knownRows {
		for other := range t.known {
			delete(t.known, other)
			break
		}
	}
	t.known[id] = *r
}

// run binds and runs a statement without results, and returns the number of rows it changed.
func (t *tx) run(query string, bind func(*lite.Stmt)) (int, error) {
	s, err := t.conn.Stmt(query)
	if err != nil {
		return 0, err
	}
	bind(s)
	if err := s.Run(); err != nil {
		return 0, err
	}
	return t.conn.Changes(), nil
}

// one runs a query for at most one row; found tells whether there is one, and read is called then.
func one(c *lite.Conn, query string, bind, read func(*lite.Stmt)) (found bool, err error) {
	s, err := c.Stmt(query)
	if err != nil {
		return false, err
	}
	defer s.Reset()
	bind(s)
	if found, err = s.Step(); found {
		read(s)
	}
	return found, err
}

// each runs a query and calls read for each row until it fails.
func each(c *lite.Conn, query string, bind func(*lite.Stmt), read func(*lite.Stmt) error) error {
	s, err := c.Stmt(query)
	if err != nil {
		return err
	}
	defer s.Reset()
	bind(s)
	for {
		more, err := s.Step()
		if err != nil || !more {
			return err
		}
		if err := read(s); err != nil {
			return err
		}
	}
}

func nothing(*lite.Stmt) {}

// nextTask numbers a task.
func (t *tx) nextTask() (int64, error) {
	if t.n == 0 {
		_, err := one(t.conn, lastTask, nothing, func(s *lite.Stmt) { t.n = s.ColInt(0) })
		if err != nil {
			return 0, err
		}
	}
	t.n++
	return t.n, nil
}

// nextEntries numbers count history rows and returns the first number.
func (t *tx) nextEntries(count int) (int64, error) {
	if t.h == 0 {
		_, err := one(t.conn, lastHistory, nothing, func(s *lite.Stmt) { t.h = s.ColInt(0) })
		if err != nil {
			return 0, err
		}
	}
	first := t.h + 1
	t.h += int64(count)
	return first, nil
}

// check refuses a stale fence. The transaction holds the write lock, so nobody can install another
// token before it ends.
func (t *tx) check(f store.Fence) error {
	if f == (store.Fence{}) {
		return nil
	}
	token, err := installed(t.conn, f.Partition)
	if err == nil && token != f.Token {
		return store.ErrFenced
	}
	return err
}

// installed reads the token of a partition, 0 if it never had one.
func installed(c *lite.Conn, partition int) (token int64, err error) {
	_, err = one(c, selectToken,
		func(s *lite.Stmt) { s.Int(1, int64(partition)) },
		func(s *lite.Stmt) { token = s.ColInt(0) })
	return token, err
}
