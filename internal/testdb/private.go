package testdb

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// private is what servers of this process have in common, whatever they are.
type private struct {
	dir    string // empty for a foreign server
	as     *account
	guard  io.Closer       // held open until the end of this process: see watchdog.go
	dogged <-chan struct{} // closed when the watchdog has ended

	mu   sync.Mutex
	proc *process // nil while the server is down
}

func (s *private) down(sig syscall.Signal) error {
	if s.dir == "" {
		return errForeign
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	err := s.proc.end(sig)
	if err == nil {
		s.proc = nil
	}
	return err
}

// running reports whether the server should answer.
func (s *private) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir == "" || s.proc != nil && !s.proc.ended()
}

// end ends the server for good, by a signal. The watchdog removes the folder.
func (s *private) end(sig syscall.Signal) error {
	err := errors.Join(s.down(sig), s.guard.Close())
	select {
	case <-s.dogged:
	case <-time.After(startTimeout):
		err = errors.Join(err, fmt.Errorf("%s is still there after %v", s.dir, startTimeout))
	}
	return err
}

// logTail returns the last lines of the server's log, for an error message.
func (s *private) logTail() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	const most = 2000
	return string(b[max(0, len(b)-most):])
}
