package testdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options choose how a private server is set up. The zero value is near to production:
// durable commits, full page writes, 200 connections.
type Options struct {
	// Fast turns fsync and what goes with it off, for tests that only need the SQL.
	Fast bool
	// Settings are added to postgresql.conf as they are, and win over all others.
	Settings map[string]string
}

// Server is one PostgreSQL server. Its methods may be called from any goroutine, one at a
// time. Stop, Kill, Start and Restart are errors on a server named by AX_TEST_POSTGRES_DSN.
type Server struct {
	dsn      string // the ordinary role, database "postgres"
	adminDSN string // the superuser, database "postgres"

	bin  string // folder of the server programs
	port int
	private
}

// process is one life of the server.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
}

// DSN returns the URL of the ordinary role in the database "postgres". The port stays the same
// over Stop, Kill, Start and Restart.
func (s *Server) DSN() string { return s.dsn }

// AdminDSN returns the URL of the superuser in the database "postgres".
func (s *Server) AdminDSN() string { return s.adminDSN }

// newServer makes a folder, fills it with a new cluster and starts a server on it.
func newServer(o Options) (_ *Server, err error) {
	bin, err := serverPrograms()
	if err != nil {
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
	s := &Server{bin: bin, private: private{dir: dir, as: as}}
	if err := as.own(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if s.guard, s.dogged, err = startWatchdog(dir, as); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.setUp(o); err != nil {
		return nil, errors.Join(err, s.end(syscall.SIGQUIT))
	}
	return s, nil
}

// setUp creates the cluster, starts the server and makes the ordinary role.
func (s *Server) setUp(o Options) error {
	admin, user := rand.Text(), rand.Text()
	if err := s.initCluster(admin); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	if err := s.writeSettings(o); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	if err := s.firstStart(admin, user); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.exec(ctx, "CREATE ROLE ax LOGIN PASSWORD '"+user+"'"); err != nil {
		return fmt.Errorf("create role: %w", err)
	}
	return nil
}

// firstStart finds a port on which the server comes up. A free one may be taken by somebody
// else before the server has it.
func (s *Server) firstStart(admin, user string) error {
	deadline := time.Now().Add(startTimeout)
	for range 5 {
		port, err := freePort()
		if err != nil {
			return fmt.Errorf("free port: %w", err)
		}
		const form = "postgres://%s:%s@127.0.0.1:%d/postgres?sslmode=disable"
		s.port = port
		s.adminDSN = fmt.Sprintf(form, "postgres", admin, port)
		s.dsn = fmt.Sprintf(form, "ax", user, port)
		if up, err := s.tryStart(deadline); up || err != nil {
			return err
		}
	}
	return s.noAnswer()
}

func (s *Server) initCluster(password string) error {
	pw := filepath.Join(s.dir, "password")
	if err := os.WriteFile(pw, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	if err := s.as.own(pw); err != nil {
		return err
	}
	// Clear text passwords, because they cross only the loopback and SCRAM costs
	// milliseconds a connection.
	cmd := exec.Command(filepath.Join(s.bin, "initdb"),
		"--pgdata="+s.data(), "--username=postgres", "--pwfile="+pw, "--auth=password",
		"--encoding=UTF8", "--no-locale", "--no-sync")
	s.as.run(cmd)
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return os.Remove(pw)
}

func (s *Server) writeSettings(o Options) (err error) {
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"),
		os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	set := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": s.dir,
		"max_connections":         "200",
		"log_line_prefix":         "%m [%p] %q%u@%d ",
		"log_lock_waits":          "on",
		"log_timezone":            "UTC",
	}
	if o.Fast {
		set["fsync"], set["synchronous_commit"], set["full_page_writes"] = "off", "off", "off"
	}
	maps.Copy(set, o.Settings)
	for k, v := range set {
		if _, err := fmt.Fprintf(f, "%s = '%s'\n", k, strings.ReplaceAll(v, "'", "''")); err != nil {
			return err
		}
	}
	return nil
}

// Start starts a server that Stop or Kill ended, on the same port and data, and returns when
// it answers. After a Kill the remains of the old server may refuse the new one for a moment,
// so a server that ends at once is tried again.
func (s *Server) Start() error {
	if s.dir == "" {
		return errForeign
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil && !s.proc.ended() {
		return errors.New("start: the server is running")
	}
	deadline := time.Now().Add(startTimeout)
	for {
		if up, err := s.tryStart(deadline); up || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return s.noAnswer()
		}
	}
}

// tryStart starts the server and reports whether it came up; it has ended if not.
func (s *Server) tryStart(deadline time.Time) (bool, error) {
	p, err := s.launch()
	if err != nil {
		return false, fmt.Errorf("start: %w", err)
	}
	if !s.awaitReady(p, deadline) {
		return false, p.end(syscall.SIGQUIT)
	}
	s.proc = p
	return true, nil
}

func (s *Server) noAnswer() error {
	return fmt.Errorf("start: no answer; the end of the server's log: %s", s.logTail())
}

// launch starts the server process. The shell leaves its own number, which exec keeps, where
// the watchdog finds it: there is no moment in which the server runs and is not known.
func (s *Server) launch() (*process, error) {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command("sh", "-c", `echo $$ >pid && exec "$@"`, "sh",
		filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", strconv.Itoa(s.port))
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

// awaitReady reports whether p answers a query before it ends or the deadline passes.
func (s *Server) awaitReady(p *process, deadline time.Time) bool {
	for time.Now().Before(deadline) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		c, err := pgx.Connect(ctx, s.adminDSN)
		if err == nil {
			err = c.Close(ctx)
		}
		cancel()
		select {
		case <-p.exited:
			return false // whoever answered, it was not p
		default:
		}
		if err == nil {
			return true
		}
		select {
		case <-p.exited:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return false
}

// Stop ends the server as an administrator would: connections are cut, data is flushed.
// It returns when the process has ended. Stopping a stopped server is no error.
func (s *Server) Stop() error { return s.down(syscall.SIGINT) }

// Kill ends the server with SIGKILL, as a crash would. What was committed is still there after
// Start.
func (s *Server) Kill() error { return s.down(syscall.SIGKILL) }

// Restart is Stop and Start.
func (s *Server) Restart() error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Start()
}

func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// end sends sig and waits for the end of the process.
func (p *process) end(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(startTimeout):
		return fmt.Errorf("the server did not end within %v of %v", startTimeout, sig)
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// freePort finds a port that nobody listens on. It stays below the range from which kernels
// take ports for outgoing connections: a client that tries to reach a server which is down
// could be given the server's own port, connect to itself and keep the server from coming back.
func freePort() (int, error) {
	var last error
	for range 100 {
		n, err := rand.Int(rand.Reader, big.NewInt(17_000))
		if err != nil {
			return 0, err
		}
		port := 15_000 + int(n.Int64())
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
		last = err
	}
	return 0, last
}

var errForeign = errors.New("a server that the environment names is not ours to stop or start")
