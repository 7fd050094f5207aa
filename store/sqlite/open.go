package sqlite

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/store/sqlite/internal/owner"
	"github.com/ax-sched/ax/store/sqlite/internal/schema"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Store is a database file of ax. It is safe for concurrent use.
type Store struct {
	path    string
	opts    options
	writer  *writer
	readers *readers
	owner   *owner.Owner
	members *members
}

var _ store.Store = (*Store)(nil)

// Open opens the database file, makes it if it does not exist, and brings its schema up to date.
// The directory must exist. A file of a newer version gives store.ErrNewer, one that is damaged or
// has no tables of ax among its own (see Shared) gives store.ErrDamaged and is left as it is. See
// NoMigrate for files that it must not make or change.
func Open(path string, opts ...Option) (*Store, error) {
	o := newOptions(opts)
	conn, err := prepare(path, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, named(err))
	}
	s := &Store{path: path, opts: o, writer: newWriter(conn, o)}
	s.readers = newReaders(func() (*lite.Conn, error) { return openReader(path, o) })
	s.owner = owner.New(path + ".owner")
	s.members = newMembers(s)
	return s, nil
}

// Leases returns the store as a lease.Backend. A lease lasts until it is released or the process
// dies: the time to live that callers name is not used.
func (s *Store) Leases() lease.Backend { return s.owner }

// prepare opens the connection of the writer on a file whose schema is current.
func prepare(path string, o options) (*lite.Conn, error) {
	connect := create
	if o.keep {
		connect = existing
	}
	c, err := connect(path)
	if err != nil {
		return nil, err
	}
	if err := setUp(c, o); err != nil {
		_ = c.Close() // the first error is the one that says what is wrong
		return nil, err
	}
	return c, nil
}

// create opens the file, and makes it if it does not exist.
func create(path string) (*lite.Conn, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	return lite.Open(path, true)
}

// existing opens the file only if it exists.
func existing(path string) (*lite.Conn, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil { // SQLite says less
		return nil, fmt.Errorf("%w; `ax migrate up` makes it", err)
	}
	return lite.Open(path, false)
}

func checkPath(path string) error {
	if path == "" || strings.Contains(path, ":memory:") {
		return errors.New("a database in memory has no second connection; use store/memory")
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("the directory must exist: %w", err)
	}
	if !dir.IsDir() {
		return fmt.Errorf("%s is not a directory", filepath.Dir(path))
	}
	return nil
}

// pageSize: larger pages mean fewer of them for the append-only tables and the wide rows, and each
// costs a checksum and two writes. It is fixed when the file is made.
const pageSize = 8192

// setUp checks whose file it is before anything of it is changed.
func setUp(c *lite.Conn, o options) error {
	if err := c.Exec(fmt.Sprintf("PRAGMA busy_timeout = %d; PRAGMA page_size = %d",
		o.busy.Milliseconds(), pageSize)); err != nil {
		return err
	}
	sc, err := schema.Load(migrationFiles)
	if err != nil {
		return err
	}
	sc.Shared, sc.Keep = o.shared, o.keep
	// One transaction, because another process may be making the schema at this moment.
	if err := transact(c, sc.Check); err != nil {
		return err
	}
	if err := toWAL(c, o.busy); err != nil {
		return err
	}
	if err := sc.Bring(c, int64(o.now())); err != nil {
		return err
	}
	// The writer waits in Go, where a context can end the wait.
	return c.Exec(fmt.Sprintf(`
PRAGMA busy_timeout = 0;
PRAGMA synchronous = %d;
PRAGMA cache_size = -32768;
PRAGMA wal_autocheckpoint = %d;
PRAGMA journal_size_limit = %d;
PRAGMA max_page_count = %d`, o.sync, walPages, 4*walPages*pageSize, o.pageLimit()))
}

// walPages is the size of the WAL at which a commit copies it into the database file. A row that
// is written again before that is copied once.
const walPages = 2000

func (o *options) pageLimit() int64 {
	if o.maxPages > 0 {
		return o.maxPages
	}
	return 1<<32 - 2 // the most that SQLite can have
}

// toWAL switches the file to WAL mode, which needs it alone for a moment.
func toWAL(c *lite.Conn, patience time.Duration) error {
	for began := time.Now(); ; {
		var mode string
		_, err := one(c, "PRAGMA journal_mode = WAL", nothing,
			func(s *lite.Stmt) { mode = s.ColText(0) })
		if err == nil && mode != "wal" {
			return fmt.Errorf("the file system refuses WAL mode and offers %s; use a local one", mode)
		}
		if !failed(err, lite.Busy) || time.Since(began) >= patience {
			return err
		}
	}
}

func openReader(path string, o options) (*lite.Conn, error) {
	c, err := lite.Open(path, false)
	if err != nil {
		return nil, err
	}
	err = c.Exec(fmt.Sprintf("PRAGMA busy_timeout = %d; PRAGMA query_only = 1; "+
		"PRAGMA cache_size = -8192", o.busy.Milliseconds()))
	if err != nil {
		_ = c.Close() // the first error is the one that says what is wrong
		return nil, err
	}
	return c, nil
}

// Close implements store.Store. Leadership is given up.
func (s *Store) Close() error {
	errs := []error{s.writer.close(), s.readers.close(), s.owner.Close()}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close %s: %w", s.path, err)
	}
	return nil
}
