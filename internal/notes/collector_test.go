package notes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// shelf is a store in memory that may be away, may lose its answers, and counts calls.
type shelf struct {
	*memory.Store
	t *testing.T

	mu          sync.Mutex
	away, deaf  bool
	calls, most int // calls, and the most notes of one
	failed      []error
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, err)
}

func (s *shelf) errs() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.failed)
}

var errAway = errors.New("the store is away")

func (s *shelf) Note(ctx context.Context, ns []store.Note) error {
	s.mu.Lock()
	s.calls++
	s.most = max(s.most, len(ns))
	away, deaf := s.away, s.deaf
	s.mu.Unlock()
	if away {
		return errAway
	}
	if err := s.Store.Note(ctx, ns); err != nil || !deaf {
		return err
	}
	return errors.New("the answer was lost")
}

func (s *shelf) set(away, deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.deaf = away, deaf
}

func (s *shelf) reset() (calls, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls, most = s.calls, s.most
	s.calls, s.most = 0, 0
	return calls, most
}

// running inserts a task that runs and returns what its execution says.
func (s *shelf) running(c *Collector) *Execution {
	s.t.Helper()
	id, x := newID(), newID()
	row := task.Task{ID: id, Kind: "k", Group: "g", Bucket: task.Normal, MaxRetries: -1,
		Mutable: task.Mutable{State: task.Running, Run: 1, Attempt: 1, RunAt: task.StoreNow,
			ExecutionID: x, Executor: "e", Epoch: 1, StartedAt: task.StoreNow}}
	if _, err := s.Insert(s.t.Context(), store.Fence{}, []task.Task{row}); err != nil {
		s.t.Fatal(err)
	}
	return &Execution{C: c, Task: &row}
}

func (s *shelf) progress(e *Execution) task.Progress {
	s.t.Helper()
	ps, err := s.Notes(s.t.Context(), []task.ID{e.Task.ID})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(ps) == 0 {
		return task.Progress{}
	}
	return ps[0]
}

func (s *shelf) log(e *Execution) (lines []string) {
	s.t.Helper()
	q := store.LogQuery{Task: e.Task.ID, Limit: 1000}
	for {
		ls, err := s.Logs(s.t.Context(), q)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, l := range ls {
			lines = append(lines, l.Text)
			q.After = store.LogMark{Execution: l.ExecutionID, Seq: l.Seq}
		}
		if len(ls) == 0 {
			return lines
		}
	}
}

func (c *Collector) holds() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

var serial = struct{ next func() int64 }{counter()}

func counter() func() int64 {
	var n int64
	return func() int64 { n++; return n }
}

func newID() task.ID { return task.NewID(serial.next(), [10]byte{}) }

// collect runs f in a bubble beside a collector that runs.
func collect(t *testing.T, cfg Config, f func(s *shelf, c *Collector)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{Store: memory.New(memory.Options{}), t: t}
		cfg.Store = s
		cfg.Now = func() task.Time { return task.FromGo(time.Now()) }
		cfg.Failed = s.fail
		if cfg.Level == nil {
			cfg.Level = slog.LevelInfo
		}
		c := New(cfg)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		f(s, c)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run gave %v", err)
		}
	})
}

// TestWrittenOnceASecond: what a running execution says is there within a second, however often it
// speaks, and silence costs nothing.
func TestWrittenOnceASecond(t *testing.T) {
	collect(t, Config{}, func(s *shelf, c *Collector) {
		silent := s.running(c)
		time.Sleep(time.Hour)
		if out := silent.End(); out != nil {
			t.Errorf("a silent execution has the output %q", out)
		}
		if silent.state.Load() == nil || silent.state.Load().id != (task.ID{}) {
			t.Error("a silent execution keeps more than that it has ended")
		}
		time.Sleep(time.Hour)
		if calls, _ := s.reset(); calls != 0 {
			t.Errorf("%d calls of the store for an execution that said nothing", calls)
		}
		e := s.running(c)
		for i := range 1000 { // ten seconds
			e.Progress(int64(i), 1000)
			time.Sleep(10 * time.Millisecond)
			if i%100 != 99 {
				continue
			}
			synctest.Wait()
			if p := s.progress(e); p.Done < int64(i-100) || p.Total != 1000 {
				t.Errorf("at step %d the store has %d of %d", i, p.Done, p.Total)
			}
		}
		if calls, _ := s.reset(); calls < 9 || calls > 11 {
			t.Errorf("%d calls in ten seconds", calls)
		}
		time.Sleep(time.Minute)
		if calls, _ := s.reset(); calls > 1 {
			t.Errorf("%d calls after the last word", calls)
		}
		if errs := s.errs(); len(errs) != 0 {
			t.Errorf("errors: %v", errs)
		}
	})
}

// TestEndIsWrittenAtOnce: nobody waits a second for the last words.
func TestEndIsWrittenAtOnce(t *testing.T) {
	collect(t, Config{}, func(s *shelf, c *Collector) {
		e := s.running(c)
		log := slog.New(e.Handler(slog.DiscardHandler))
		log.Info("begun")
		if err := e.Output([]byte("half")); err != nil {
			t.Error(err)
		}
		time.Sleep(300 * time.Millisecond)
		if got := s.log(e); len(got) != 0 {
			t.Errorf("after 300 ms: %q", got)
		}
		log.Info("done")
		e.Progress(2, 2)
		if err := e.Output(map[string]int{"n": 7}); err != nil {
			t.Error(err)
		}
		if out := e.End(); string(out) != `{"n":7}` {
			t.Errorf("the output at the end is %s", out)
		}
		synctest.Wait()
		if got := s.log(e); fmt.Sprint(got) != "[begun done]" {
			t.Errorf("at the end: %q", got)
		}
		if p := s.progress(e); p.Done != 2 || string(p.Output) != `{"n":7}` {
			t.Errorf("at the end: %d, %s", p.Done, p.Output)
		}
		e.Progress(3, 3)
		log.Info("late")
		if err := e.Output("late"); !errors.Is(err, ErrEnded) {
			t.Errorf("an output after the end: %v", err)
		}
		if out := e.End(); out != nil {
			t.Errorf("a second end gives %q", out)
		}
		time.Sleep(time.Minute)
		if p := s.progress(e); p.Done != 2 || len(s.log(e)) != 2 {
			t.Errorf("after the end it said %d, %q", p.Done, s.log(e))
		}
	})
}

// TestManyInOneCall: executions share calls, up to a limit, and none is forgotten.
func TestManyInOneCall(t *testing.T) {
	collect(t, Config{}, func(s *shelf, c *Collector) {
		es := make([]*Execution, 3*maxBatch/2)
		for i := range es {
			es[i] = s.running(c)
			es[i].Progress(int64(i+1), 0)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if calls, most := s.reset(); calls != 2 || most != maxBatch {
			t.Errorf("%d calls of up to %d notes", calls, most)
		}
		for i := range es {
			if p := s.progress(es[i]); p.Done != int64(i+1) {
				t.Errorf("execution %d: %d", i, p.Done)
			}
		}
		for i := range es[:40] { // large ones make smaller calls
			if err := es[i].Output(make([]byte, task.MaxOutput)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if calls, most := s.reset(); calls != 3 || most*task.MaxOutput > 2*maxBytes {
			t.Errorf("40 outputs took %d calls of up to %d notes", calls, most)
		}
		if c.holds() != 0 || c.Backlog() != 0 {
			t.Errorf("%d bytes of %d executions are held when all is written", c.holds(), c.Backlog())
		}
	})
}

// TestOutage: while the store is away nothing is lost and it is not asked all the time; a repeated
// call whose first answer was lost writes nothing twice.
func TestOutage(t *testing.T) {
	collect(t, Config{}, func(s *shelf, c *Collector) {
		e, other := s.running(c), s.running(c)
		log := slog.New(e.Handler(slog.DiscardHandler))
		s.set(true, false)
		var want []string
		for i := range 300 {
			e.Progress(int64(i), 300)
			log.Info(fmt.Sprint(i))
			want = append(want, fmt.Sprint(i))
			if i == 20 {
				if err := other.Output([]byte("out")); err != nil {
					t.Error(err)
				}
				other.End()
			}
			time.Sleep(time.Second)
		}
		if calls, _ := s.reset(); calls < 20 || calls > 60 {
			t.Errorf("%d calls in five minutes of outage", calls)
		}
		if errs := s.errs(); len(errs) < 20 || !errors.Is(errs[0], errAway) {
			t.Errorf("told of %d errors", len(errs))
		}
		s.set(false, true)
		time.Sleep(20 * time.Second)
		s.set(false, false)
		time.Sleep(20 * time.Second)
		if got := s.log(e); !slices.Equal(got, want) {
			t.Errorf("%d lines after the outage: %q", len(got), got)
		}
		if p := s.progress(e); p.Done != 299 {
			t.Errorf("progress %d after the outage", p.Done)
		}
		if p := s.progress(other); string(p.Output) != "out" {
			t.Errorf("the output of an execution that ended meanwhile: %q", p.Output)
		}
		if c.holds() != 0 || c.Backlog() != 0 {
			t.Errorf("%d bytes of %d executions are held when all is written", c.holds(), c.Backlog())
		}
	})
}

// TestOutageIsBounded: of more than may be held the oldest is dropped and counted, and the log says
// where.
func TestOutageIsBounded(t *testing.T) {
	collect(t, Config{Held: 40_000}, func(s *shelf, c *Collector) {
		ended, e := s.running(c), s.running(c)
		s.set(true, false)
		slog.New(ended.Handler(slog.DiscardHandler)).Info(strings.Repeat("e", 1000))
		ended.End()
		log := slog.New(e.Handler(slog.DiscardHandler))
		for i := range 25 {
			log.Info(fmt.Sprintf("%02d %s", i, strings.Repeat("x", 1000)))
		}
		other := s.running(c)
		for range 20 {
			slog.New(other.Handler(slog.DiscardHandler)).Info(strings.Repeat("y", 1000))
		}
		if c.holds() > 40_000 {
			t.Errorf("%d bytes are held", c.holds())
		}
		log.Info("after")
		time.Sleep(10 * time.Second)
		s.set(false, false)
		time.Sleep(20 * time.Second)
		got := s.log(e)
		if len(got) != 2 || !strings.HasPrefix(got[0], "25 lines were dropped here") ||
			got[1] != "after" {
			t.Errorf("the log of the running execution: %.60q", got)
		}
		if got := s.log(ended); len(got) != 0 {
			t.Errorf("the log of the ended execution: %d lines", len(got))
		}
		if got := s.log(other); len(got) != 20 {
			t.Errorf("the log of the youngest execution: %d lines", len(got))
		}
		if !slices.ContainsFunc(s.errs(), func(err error) bool {
			return strings.HasPrefix(err.Error(), "26 log lines and outputs were dropped")
		}) {
			t.Errorf("not told of the loss: %v", s.errs())
		}
		if c.holds() != 0 {
			t.Errorf("%d bytes are held when all is written", c.holds())
		}
	})
}

// TestDropsAreRare: a collector that is full makes room for many at a time: a walk through the
// queue for each line would hold up the lock that all handlers share.
func TestDropsAreRare(t *testing.T) {
	collect(t, Config{Held: 1000 * (entryBytes + 1000 + lineBytes)}, func(s *shelf, c *Collector) {
		s.set(true, false)
		runs := s.running(c) // stands first in the queue, and stays there
		runs.Progress(1, 2)
		drops := 0
		for range 5000 {
			e := s.running(c)
			c.mu.Lock()
			lost := c.lost
			c.mu.Unlock()
			slog.New(e.Handler(slog.DiscardHandler)).Info(strings.Repeat("x", 1000))
			e.End()
			c.mu.Lock()
			if c.lost > lost {
				drops++
			}
			if c.held > c.cfg.Held {
				t.Fatalf("%d bytes are held; at most %d", c.held, c.cfg.Held)
			}
			c.mu.Unlock()
		}
		if drops == 0 || drops > 50 {
			t.Errorf("of 5,000 executions %d made room", drops)
		}
		s.set(false, false)
		if err := c.Flush(s.t.Context()); err != nil {
			t.Fatal(err)
		}
		if p := s.progress(runs); p.Done != 1 {
			t.Errorf("the progress of the running execution was dropped: %+v", p)
		}
		if c.holds() != 0 {
			t.Errorf("%d bytes are held when all is written", c.holds())
		}
	})
}

// TestOutputsThatRun: the outputs of running executions cost no lines, and count from the end.
func TestOutputsThatRun(t *testing.T) {
	const held = 40_000
	collect(t, Config{Held: held}, func(s *shelf, c *Collector) {
		s.set(true, false)
		big := bytes.Repeat([]byte("x"), 10_000)
		var es []*Execution
		for range 10 {
			e := s.running(c)
			es = append(es, e)
			if err := e.Output(big); err != nil {
				t.Fatal(err)
			}
			slog.New(e.Handler(slog.DiscardHandler)).Info("kept")
		}
		time.Sleep(3 * time.Second) // refused, and put back
		s.set(false, false)
		if err := c.Flush(s.t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, e := range es {
			if got := s.log(e); !slices.Equal(got, []string{"kept"}) {
				t.Errorf("the log of execution %d: %q", i, got)
			}
			if got := s.progress(e).Output; !bytes.Equal(got, big) {
				t.Errorf("execution %d has %d bytes of output", i, len(got))
			}
		}
		s.set(true, false)
		for _, e := range es {
			if err := e.Output(big[1:]); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		for _, e := range es {
			if got := e.End(); len(got) != len(big)-1 {
				t.Errorf("the result has %d bytes", len(got))
			}
			if c.holds() > held {
				t.Errorf("%d bytes are held", c.holds())
			}
			time.Sleep(time.Second) // some end while they are refused
		}
		if got := c.Backlog(); got != 3 {
			t.Errorf("%d executions wait; room is for 3", got)
		}
		s.set(false, false)
		if err := c.Flush(s.t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.holds() != 0 {
			t.Errorf("%d bytes are held when all is written", c.holds())
		}
	})
}

// TestEndsWhileWritten: an execution that ends while the store refuses its output counts from then.
func TestEndsWhileWritten(t *testing.T) {
	c := New(Config{Store: &shelf{}, Held: 1 << 20, Now: func() task.Time { return 1 }})
	e := &Execution{C: c, Task: &task.Task{ID: newID(), Mutable: task.Mutable{ExecutionID: newID()}}}
	if err := e.Output(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	b := c.take(1)
	e.End()
	if got := c.holds(); got != 0 {
		t.Errorf("%d bytes are held before the store has refused", got)
	}
	c.written(b, errAway)
	if got := c.holds(); got != entryBytes+1000 {
		t.Errorf("%d bytes are held of an execution that has ended", got)
	}
	c.written(c.take(1), nil)
	if got := c.holds(); got != 0 {
		t.Errorf("%d bytes are held when all is written", got)
	}
}

// TestCallsAreBounded: the outputs of running executions count for the size of a call.
func TestCallsAreBounded(t *testing.T) {
	c := New(Config{Store: &shelf{}, Now: func() task.Time { return 1 }})
	for range 100 {
		e := &Execution{C: c, Task: &task.Task{ID: newID(), Mutable: task.Mutable{ExecutionID: newID()}}}
		if err := e.Output(make([]byte, task.MaxOutput)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.take(100)); n != maxBytes/task.MaxOutput {
		t.Errorf("one call takes %d outputs of %d bytes", n, task.MaxOutput)
	}
}

// TestFlush: at a stop everything is written, and a store that is away holds it up no longer than
// it may.
func TestFlush(t *testing.T) {
	collect(t, Config{}, func(s *shelf, c *Collector) {
		if err := c.Flush(s.t.Context()); err != nil {
			t.Errorf("nothing to write: %v", err)
		}
		e := s.running(c)
		e.Progress(1, 2)
		began := time.Now()
		if err := c.Flush(s.t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("flush gave %v after %s", err, time.Since(began))
		}
		if p := s.progress(e); p.Done != 1 {
			t.Errorf("after the flush: %d", p.Done)
		}
		s.set(true, false)
		e.Progress(2, 2)
		ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Second)
		defer cancel()
		if err := c.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("flush of a store that is away gave %v", err)
		}
		s.set(false, false)
		if err := c.Flush(s.t.Context()); err != nil {
			t.Error(err)
		}
		if p := s.progress(e); p.Done != 2 {
			t.Errorf("after the second flush: %d", p.Done)
		}
	})
}
