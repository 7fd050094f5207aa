package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is the PostgreSQL server that the measurements use: a private one or one given by -dsn.
type server struct {
	dsn  string // of a role that may create databases
	made int    // databases

	dir    string // of a private server; "" for a given one
	cmd    *exec.Cmd
	waiter sync.WaitGroup
	exited chan error // how it ended
}

// settings of a private server; all others are PostgreSQL's defaults, fsync with them.
const settings = `
listen_addresses = '127.0.0.1'
shared_buffers = 1GB
max_wal_size = 4GB
`

// startServer makes a cluster in a new folder under dir and starts a server on it.
func startServer(ctx context.Context, dir string) (_ *server, err error) {
	bin, err := serverPrograms()
	if err != nil {
		return nil, err
	}
	as, err := serverAccount()
	if err != nil {
		return nil, err
	}
	dir, err = os.MkdirTemp(dir, "ax-postgres-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, exited: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := s.initialize(ctx, bin, as); err != nil {
		return nil, fmt.Errorf("initdb: %w", err)
	}
	if err := s.start(bin, as); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return s, s.awaitReady(ctx)
}

// initialize makes the cluster, with a password so that nobody else of this machine gets in.
func (s *server) initialize(ctx context.Context, bin string, as *syscall.Credential) error {
	secret := rand.Text()
	port, err := freePort()
	if err != nil {
		return err
	}
	s.dsn = fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", secret, port)
	file := filepath.Join(s.dir, "password")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		return err
	}
	if as != nil {
		for _, path := range []string{s.dir, file} {
			if err := os.Chown(path, int(as.Uid), int(as.Gid)); err != nil {
				return err
			}
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--pgdata="+s.data(),
		"--username=postgres", "--pwfile="+file, "--auth=password", "--encoding=UTF8", "--no-locale")
	cmd.Dir, cmd.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: as}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%sport = %d\nunix_socket_directories = '%s'\n", settings, port, s.dir)
	return errors.Join(err, f.Close(), os.Remove(file))
}

// start starts the server in a process group of its own: an interrupt from the keyboard ends this
// program, which then ends the server.
func (s *server) start(bin string, as *syscall.Credential) error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(filepath.Join(bin, "postgres"), "-D", s.data())
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	s.waiter.Go(func() { s.exited <- s.cmd.Wait() })
	return nil
}

// awaitReady waits until the server answers.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := s.exec(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case end := <-s.exited:
			return fmt.Errorf("start PostgreSQL: %w; its log: %s", end, s.logTail())
		case <-ctx.Done():
			return fmt.Errorf("start PostgreSQL: %w; its log: %s", err, s.logTail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// fresh makes an empty database. drop removes it, which ends in a checkpoint: the writes of one
// measurement do not burden the next.
func (s *server) fresh(ctx context.Context) (dsn string, drop func() error, err error) {
	s.made++
	name := fmt.Sprintf("ax_bench_%d_%d", os.Getpid(), s.made)
	if err := s.exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, fmt.Errorf("create database: %w", err)
	}
	u, err := url.Parse(s.dsn)
	if err != nil {
		return "", nil, err
	}
	u.Path = "/" + name
	drop = func() error { // also after an interrupt
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := s.exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("drop database: %w", err)
		}
		return nil
	}
	return u.String(), drop, nil
}

func (s *server) exec(ctx context.Context, sql string) error {
	c, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql)
	return errors.Join(err, c.Close(ctx))
}

// show returns the values of settings.
func (s *server) show(ctx context.Context, names ...string) (values []string, err error) {
	c, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	for _, name := range names {
		var v string
		if err := c.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// close ends a private server and removes its folder.
func (s *server) close() error {
	if s == nil || s.dir == "" {
		return nil
	}
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGINT) // cuts connections; it may have ended by itself
		kill := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
		s.waiter.Wait()
		kill.Stop()
	}
	return os.RemoveAll(s.dir)
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// logTail is the end of the server's log, for an error message.
func (s *server) logTail() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	const most = 2000
	return string(b[max(0, len(b)-most):])
}

// serverPrograms finds the folder of initdb and postgres: in PATH, else the newest of Debian's.
func serverPrograms() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("no PostgreSQL here: install it, put initdb into PATH, or give -dsn")
	}
	newest := slices.MaxFunc(found, func(a, b string) int {
		if d := len(a) - len(b); d != 0 { // 9 is older than 15
			return d
		}
		return strings.Compare(a, b)
	})
	return filepath.Dir(newest), nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
