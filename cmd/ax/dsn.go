package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/mysql"
	"github.com/ax-sched/ax/store/postgres"
	"github.com/ax-sched/ax/store/sqlite"
)

// database is what --db names.
type database struct {
	path    string // of a SQLite file; "" for a server
	url     string // of PostgreSQL, MySQL or MariaDB
	unnamed bool   // nobody named it: it is the default
}

// dbFlag is the flag of commands that work on a database.
type dbFlag struct {
	DB string `name:"db" placeholder:"DSN" help:"${db}"`
}

// parse reads the flag or takes the default.
func (f dbFlag) parse() (database, error) {
	if f.DB != "" {
		return parseDSN(f.DB)
	}
	path, err := defaultPath()
	return database{path: path, unnamed: true}, err
}

// defaultPath is the same for all commands, so that `ax tasks` finds what `ax run` did.
func defaultPath() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/ax/ax.db", nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ax", "ax.db"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usage("no place for the database: %w; give --db sqlite:PATH", err)
	}
	return filepath.Join(home, ".local", "state", "ax", "ax.db"), nil
}

func parseDSN(dsn string) (database, error) {
	scheme, rest, ok := strings.Cut(dsn, ":")
	if !ok {
		return database{}, usage("--db: %q has no scheme; write sqlite:%s", dsn, dsn)
	}
	switch scheme {
	case "sqlite":
		return sqliteDSN(rest)
	case "postgres", "postgresql":
		if _, err := url.Parse(dsn); err != nil || !strings.HasPrefix(rest, "//") {
			// The text may hold a password: it is not repeated.
			return database{}, usage("--db: this is no URL; write postgres://USER@HOST:5432/NAME")
		}
		return database{url: dsn}, nil
	case "mysql", "mariadb":
		if _, err := url.Parse(dsn); err != nil || !strings.HasPrefix(rest, "//") {
			return database{}, usage("--db: this is no URL; write mysql://USER@HOST:3306/NAME")
		}
		return database{url: dsn}, nil
	}
	return database{}, usage("--db: scheme %q is unknown; use sqlite:PATH, postgres://... or "+
		"mysql://...", scheme)
}

// isMySQL reports whether the server is one of MySQL or MariaDB.
func (d database) isMySQL() bool {
	return strings.HasPrefix(d.url, "mysql:") || strings.HasPrefix(d.url, "mariadb:")
}

func sqliteDSN(path string) (database, error) {
	switch {
	case path == "":
		return database{}, usage("--db: sqlite: names no file; write sqlite:ax.db")
	case strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///"):
		return database{}, usage("--db: sqlite:%s has two slashes; write sqlite:PATH", path)
	case strings.HasPrefix(path, ":memory:"):
		return database{}, usage("--db: nothing would be kept in memory; write sqlite:PATH")
	}
	return database{path: filepath.Clean(path)}, nil
}

// String is the DSN without a password.
func (d database) String() string {
	if d.path != "" {
		return "sqlite:" + d.path
	}
	u, err := url.Parse(d.url)
	if err != nil {
		return "postgres:"
	}
	q := u.Query()
	if q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

// open opens the database; a file, and the folder it lies in, is made if it does not exist.
func (d database) open(ctx context.Context) (ax.Store, error) {
	if d.path != "" {
		if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
			return nil, fmt.Errorf("folder of the database: %w", err)
		}
	}
	return d.openWith(ctx, true)
}

// openWith opens the database, and brings its schema up to date if that is wanted.
func (d database) openWith(ctx context.Context, migrate bool) (ax.Store, error) {
	if d.isMySQL() {
		var opts []mysql.Option
		if !migrate {
			opts = append(opts, mysql.NoMigrate())
		}
		st, err := mysql.Open(ctx, d.url, opts...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		return st, nil
	}
	if d.path == "" {
		var opts []postgres.Option
		if !migrate {
			opts = append(opts, postgres.NoMigrate())
		}
		st, err := postgres.Open(ctx, d.url, opts...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		return st, nil
	}
	var opts []sqlite.Option
	if !migrate {
		opts = append(opts, sqlite.NoMigrate())
	}
	st, err := sqlite.Open(d.path, opts...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d, err)
	}
	return st, nil
}

// openExisting opens the database as it is: it is neither made nor migrated, because somebody only
// wants to look at it or to change its tasks.
func (d database) openExisting(ctx context.Context) (ax.Store, error) {
	if err := d.exists(); err != nil {
		return nil, err
	}
	return d.openWith(ctx, false)
}

// exists returns an error if the database is a file that does not exist.
func (d database) exists() error {
	if d.path == "" {
		return nil
	}
	_, err := os.Stat(d.path)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return nil // what else is wrong is said when it is opened
	case d.unnamed:
		return fmt.Errorf("%s: there is no such file; that is the default: give --db or AX_DB", d)
	}
	return fmt.Errorf("%s: there is no such file", d)
}

// openStore opens the database that a DSN names.
func openStore(ctx context.Context, dsn string) (ax.Store, error) {
	db, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return db.open(ctx)
}
