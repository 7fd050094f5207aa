package notes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/ax-sched/ax/task"
)

// TestFirstAndLastLines: of a long log its first and its last part are kept, and one line between
// them says how many are missing.
func TestFirstAndLastLines(t *testing.T) {
	collect(t, Config{}, func(s *shelf, c *Collector) {
		e := s.running(c)
		log := slog.New(e.Handler(slog.DiscardHandler))
		const n = 5000
		for i := range n {
			log.Info(fmt.Sprintf("%04d %s", i, strings.Repeat("x", 50)))
		}
		size := 55 + lineBytes
		head, tail := headBytes/size, ringBytes/size
		time.Sleep(5 * time.Second)
		if got := s.log(e); len(got) != head {
			t.Errorf("%d lines while it runs; want the first %d", len(got), head)
		}
		e.End()
		synctest.Wait()
		got := s.log(e)
		if len(got) != head+1+tail {
			t.Fatalf("%d lines at the end; want %d, 1, %d", len(got), head, tail)
		}
		for i, line := range got {
			want := fmt.Sprintf("%04d ", i)
			switch {
			case i == head:
				want = fmt.Sprintf("%d lines were left out here", n-head-tail)
			case i > head:
				want = fmt.Sprintf("%04d ", n-len(got)+i)
			}
			if !strings.HasPrefix(line, want) {
				t.Fatalf("line %d is %.30q; want %q", i, line, want)
			}
		}
	})
}

// TestShortLogIsWhole: nothing is left out of what fits, also where the last lines stood in the
// ring.
func TestShortLogIsWhole(t *testing.T) {
	collect(t, Config{}, func(s *shelf, c *Collector) {
		e := s.running(c)
		log := slog.New(e.Handler(slog.DiscardHandler))
		for i := range 15 {
			log.Info(fmt.Sprintf("%02d %s", i, strings.Repeat("x", 3900)))
			if i == 9 {
				log.Info("short") // it would fit into the first part, but is not the next line of it
			}
		}
		e.End()
		synctest.Wait()
		got := s.log(e)
		if len(got) != 16 || got[10] != "short" || !strings.HasPrefix(got[15], "14 ") {
			t.Errorf("%d lines, the eleventh is %.20q", len(got), got[min(10, len(got)-1)])
		}
	})
}

// TestText: a line is the message and its attributes, masked as a whole and then cut at a
// character. What the level does not ask for is not kept, but handed on.
func TestText(t *testing.T) {
	mask := func(s string) string { return strings.ReplaceAll(s, "secret", "***") }
	collect(t, Config{Redact: mask}, func(s *shelf, c *Collector) {
		e := s.running(c)
		var out bytes.Buffer
		next := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})
		log := slog.New(e.Handler(next)).With("a", 1)
		log.Debug("debug")
		log.Info("hello secret", "b", "two words", "msg", "m", "level", "l")
		log.WithGroup("g").With("c", "secret").Warn("", "d", errors.New("no"))
		log.Error("a\nb", "x", loud{log})
		log.Info(strings.Repeat("x", task.MaxLogLine-6) + "secret")
		log.Info(strings.Repeat("é", task.MaxLogLine))
		log.Info("nul \x00 and \xff")
		e.End()
		synctest.Wait()
		got := s.log(e)
		want := []string{`hello *** a=1 b="two words" msg=m level=l`, ` a=1 g.c=*** g.d=no`,
			"from a value a=1", "a\nb a=1 x=loud"}
		for i, w := range want {
			if got[i] != w {
				t.Errorf("line %d is %q; want %q", i, got[i], w)
			}
		}
		for _, line := range got {
			if len(line) > task.MaxLogLine || !utf8.ValidString(line) ||
				strings.ContainsAny(line, "\x00") || strings.Contains(line, "sec") {
				t.Errorf("line of %d bytes: %.40q ... %q", len(line), line,
					line[max(0, len(line)-20):])
			}
		}
		for _, w := range []string{"level=DEBUG", "hello secret", "g.c=secret", "loud"} {
			if !strings.Contains(out.String(), w) {
				t.Errorf("the logger of the program did not get %q", w)
			}
		}
	})
}

// loud logs when it is written.
type loud struct{ log *slog.Logger }

func (l loud) LogValue() slog.Value {
	l.log.Info("from a value")
	return slog.StringValue("loud")
}

// TestLevels: what is kept does not depend on what the program's own logger takes.
func TestLevels(t *testing.T) {
	collect(t, Config{Level: slog.LevelWarn}, func(s *shelf, c *Collector) {
		e := s.running(c)
		var out bytes.Buffer
		next := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError})
		log := slog.New(e.Handler(next))
		log.Info("info")
		log.Warn("warn")
		log.Error("error")
		e.End()
		synctest.Wait()
		if got := fmt.Sprint(s.log(e)); got != "[warn error]" {
			t.Errorf("kept: %s", got)
		}
		if strings.Contains(out.String(), "warn") || !strings.Contains(out.String(), "error") {
			t.Errorf("handed on: %s", out.String())
		}
	})
}

// TestRedactPanics: a line is withheld rather than given out unmasked.
func TestRedactPanics(t *testing.T) {
	mask := func(string) string { panic("broken") }
	collect(t, Config{Redact: mask}, func(s *shelf, c *Collector) {
		e := s.running(c)
		slog.New(e.Handler(slog.DiscardHandler)).Info("secret")
		e.End()
		synctest.Wait()
		if got := fmt.Sprint(s.log(e)); !strings.Contains(got, "withheld") ||
			strings.Contains(got, "secret") {
			t.Errorf("kept: %s", got)
		}
	})
}

// TestOutput: what is taken, and what is refused with the field and the reason.
func TestOutput(t *testing.T) {
	collect(t, Config{}, func(s *shelf, c *Collector) {
		own := []byte("own")
		for _, tt := range []struct {
			in   any
			want string
		}{
			{own, "own"}, {json.RawMessage(`{"n": 12345678901234567890}`),
				`{"n":12345678901234567890}`}, {nil, "null"}, {"text", `"text"`}, {[]byte{}, ""},
			{struct{ A []int }{[]int{1}}, `{"A":[1]}`},
		} {
			e := s.running(c)
			if err := e.Output(tt.in); err != nil {
				t.Errorf("output of %T: %v", tt.in, err)
			}
			own[0] = 'X' // the caller's slice is his own again
			if got := e.End(); got == nil || string(got) != tt.want {
				t.Errorf("output of %T is %q; want %q", tt.in, got, tt.want)
			}
			own[0] = 'o'
		}
		e := s.running(c)
		if err := e.Output("kept"); err != nil {
			t.Fatal(err)
		}
		var bad *task.InputError
		for _, tt := range []struct {
			in  any
			err error
		}{
			{make([]byte, task.MaxOutput+1), task.ErrTooLarge},
			{strings.Repeat("x", task.MaxOutput-1), task.ErrTooLarge}, // with its quotes
			{make(chan int), nil}, {json.RawMessage("{"), nil},
		} {
			err := e.Output(tt.in)
			if !errors.As(err, &bad) || bad.Field != "output" || tt.err != nil && !errors.Is(err, tt.err) {
				t.Errorf("output of %T: %v", tt.in, err)
			}
		}
		if got := e.End(); string(got) != `"kept"` {
			t.Errorf("after refused ones the output is %q", got)
		}
	})
}

// TestProgressIsNeverOlder: a clock that steps back does not hide what is said after it.
func TestProgressIsNeverOlder(t *testing.T) {
	collect(t, Config{}, func(s *shelf, c *Collector) {
		e := s.running(c)
		now := task.FromGo(time.Now())
		c.cfg.Now = func() task.Time { return now }
		for i := range 3 {
			e.Progress(int64(i+1), -5)
			time.Sleep(2 * time.Second)
			now = now.Add(-time.Hour)
		}
		if p := s.progress(e); p.Done != 3 || p.Total != 0 {
			t.Errorf("after two steps back: %d of %d", p.Done, p.Total)
		}
	})
}
