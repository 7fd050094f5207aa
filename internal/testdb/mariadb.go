package testdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mysqlEnv names the variable that points the tests at a MySQL or MariaDB of one's own.
const mysqlEnv = "AX_TEST_MYSQL_DSN"

// sharedMariaDB is to MariaDB what shared is to PostgreSQL.
var sharedMariaDB = sync.OnceValues(func() (*MariaDB, error) {
	if dsn := os.Getenv(mysqlEnv); dsn != "" {
		return foreignMariaDB(dsn)
	}
	return newMariaDB(Options{Fast: true})
})

// MySQL returns the data source name, as the driver takes it, of a new, empty database on the
// server that the tests of this binary share: a private MariaDB that does not wait for its disk,
// or the one of AX_TEST_MYSQL_DSN. The database is dropped when the test ends. The test fails if
// there is no server.
func MySQL(tb testing.TB) string {
	tb.Helper()
	s, err := sharedMariaDB()
	if err != nil {
		tb.Fatalf("MariaDB for tests: %v", err)
	}
	return s.Database(tb)
}

// StartMariaDB starts a server for this test alone. It is stopped, and its folder removed, when
// the test ends.
func StartMariaDB(tb testing.TB, o Options) *MariaDB {
	tb.Helper()
	s, err := newMariaDB(o)
	if err != nil {
		tb.Fatalf("MariaDB for this test: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.end(syscall.SIGKILL); err != nil {
			tb.Errorf("end of MariaDB: %v", err)
		}
	})
	return s
}

// MariaDB is one server, reached by a socket in its folder: it has no port. Its methods may be
// called from any goroutine, one at a time.
type MariaDB struct {
	admin *mysql.Config // the superuser, no database

	fast bool
	private
}

// Database creates an empty database and returns its data source name. It is dropped when the test
// ends, if the server is up then.
func (s *MariaDB) Database(tb testing.TB) string {
	tb.Helper()
	name := "ax_" + strings.ToLower(rand.Text()[:12])
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.exec(ctx, "CREATE DATABASE "+name); err != nil {
		tb.Fatalf("create database: %v", err)
	}
	tb.Cleanup(func() {
		// The context of the test has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		if err := s.exec(ctx, "DROP DATABASE IF EXISTS "+name); err != nil && s.running() {
			tb.Errorf("drop database: %v", err)
		}
	})
	c := s.admin.Clone()
	c.DBName = name
	return c.FormatDSN()
}

// exec runs one statement as the superuser, on a connection of its own.
func (s *MariaDB) exec(ctx context.Context, query string) error {
	conn, err := mysql.NewConnector(s.admin)
	if err != nil {
		return err
	}
	db := sql.OpenDB(conn)
	_, err = db.ExecContext(ctx, query)
	return errors.Join(err, db.Close())
}

// foreignMariaDB takes a server that somebody else runs.
func foreignMariaDB(dsn string) (*MariaDB, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("%s: want USER:PASSWORD@tcp(HOST:PORT)/: %w", mysqlEnv, err)
	}
	s := &MariaDB{admin: c}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.exec(ctx, "DO 1"); err != nil {
		return nil, fmt.Errorf("%s: %w", mysqlEnv, err)
	}
	return s, nil
}

// newMariaDB makes a folder, fills it with the system tables and starts a server on it.
func newMariaDB(o Options) (_ *MariaDB, err error) {
	if err := mariaPrograms(); err != nil {
		return nil, err
	}
	as, err := serverAccount()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "ax-testdb-")
	if err != nil {
		return nil, err
	}
	s := &MariaDB{private: private{dir: dir, as: as}, fast: o.Fast, admin: mysql.NewConfig()}
	s.admin.User, s.admin.Net, s.admin.Addr = "root", "unix", filepath.Join(dir, "socket")
	if err := as.own(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if s.guard, s.dogged, err = startWatchdog(dir, as); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err = s.setUp(); err == nil {
		err = s.Start()
	}
	if err != nil {
		return nil, errors.Join(err, s.end(syscall.SIGKILL))
	}
	return s, nil
}

// setUp makes the system tables. The superuser has no password: the socket lies in a folder that
// only the account of the server and root can enter.
func (s *MariaDB) setUp() error {
	program, err := findProgram("mariadb-install-db", "mysql_install_db")
	if err != nil {
		return err
	}
	cmd := exec.Command(program, "--no-defaults", "--datadir="+filepath.Join(s.dir, "data"),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
		"--innodb-flush-log-at-trx-commit=0")
	s.as.run(cmd)
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w: %s", err, out)
	}
	return nil
}

// Start starts a server that Stop or Kill ended, on the same socket and data, and returns when it
// answers.
func (s *MariaDB) Start() error {
	if s.dir == "" {
		return errForeign
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil && !s.proc.ended() {
		return errors.New("start: the server is running")
	}
	p, err := s.launch()
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	s.proc = p
	deadline := time.After(startTimeout)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err = s.exec(ctx, "DO 1")
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("start: it ended; the end of its log: %s", s.logTail())
		case <-deadline:
			return fmt.Errorf("start: %w; the end of its log: %s", err, s.logTail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// launch starts the server process; see Server.launch.
func (s *MariaDB) launch() (*process, error) {
	program, err := findProgram("mariadbd", "mysqld")
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"-c", `echo $$ >pid && exec "$@"`, "sh", program, "--no-defaults",
		"--datadir=" + filepath.Join(s.dir, "data"), "--socket=" + s.admin.Addr,
		"--pid-file=" + filepath.Join(s.dir, "own.pid"), "--skip-networking", "--skip-log-bin",
		"--max-connections=300", "--innodb-buffer-pool-size=64M", "--skip-name-resolve",
		// Somebody's session, and the server, may have any zone and any mode.
		"--default-time-zone=-03:30", "--character-set-server=latin1"}
	if s.fast {
		args = append(args, "--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite",
			"--sync-frm=OFF", "--innodb-flush-method=nosync")
	}
	cmd := exec.Command("sh", args...)
	s.as.run(cmd)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // how it ended is in its log
		_ = os.Remove(filepath.Join(s.dir, "pid"))
	}()
	return p, nil
}

// Stop ends the server as an administrator would.
func (s *MariaDB) Stop() error { return s.down(syscall.SIGTERM) }

// Kill ends the server with SIGKILL, as a crash would.
func (s *MariaDB) Kill() error { return s.down(syscall.SIGKILL) }

// mariaFolders are where servers lie that are not in PATH of an ordinary user.
var mariaFolders = []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec",
	"/opt/homebrew/opt/mariadb/bin", "/usr/local/opt/mariadb/bin"}

// findProgram looks for the first of the names in PATH and the folders of servers.
func findProgram(names ...string) (string, error) {
	for _, name := range names {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
		for _, dir := range mariaFolders {
			if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return p, nil
			}
		}
	}
	return "", fmt.Errorf("no program %s in PATH or %v", strings.Join(names, " or "), mariaFolders)
}

// hasMariaDB reports what is missing of the programs that newMariaDB runs.
func hasMariaDB() error {
	_, server := findProgram("mariadbd")
	_, setUp := findProgram("mariadb-install-db", "mysql_install_db")
	return errors.Join(server, setUp)
}

// mariaPrograms makes sure that there are programs of MariaDB, and installs them if that is needed
// and possible.
func mariaPrograms() error {
	missing := hasMariaDB()
	if missing == nil {
		return nil
	}
	err := installWith("MariaDB", aptMariaDB, func() bool { return hasMariaDB() == nil })
	if err != nil {
		return fmt.Errorf("%w, and %s is not set: %w", missing, mysqlEnv, err)
	}
	return hasMariaDB()
}

// aptMariaDB keeps the package from starting a server: a policy that forbids it lies there during
// the installation, unless the machine has one of its own.
const aptMariaDB = `
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
	trap 'rm -f $policy' EXIT
fi
apt-get update
apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 mariadb-server
`
