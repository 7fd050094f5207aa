package guides

import (
	"context"
	"errors"
	"log"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"
)

// SendReminder is what a reminder has to know.
type SendReminder struct {
	Who  string `json:"who"`
	Text string `json:"text"`
}

// Kind names the handler. It is stored with each task: do not change it while tasks wait.
func (SendReminder) Kind() string { return "reminder.send" }

// send delivers a text to a person.
type send func(ctx context.Context, who, text string) error

func run(ctx context.Context, send send) error {
	st, err := sqlite.Open("reminders.db") // or postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer st.Close()
	a, err := ax.New(st, ax.Config{})
	if err != nil {
		return err
	}
	err = ax.HandleFunc(a, func(ctx context.Context, t *ax.TaskOf[SendReminder]) error {
		return send(ctx, t.Args.Who, t.Args.Text) // nil: succeeded; an error: retried
	}, ax.Timeout(10*time.Second), ax.MaxRetries(3))
	if err != nil {
		return err
	}
	res, err := a.Submit(ctx, ax.NewTask{
		Args:  SendReminder{Who: "ana", Text: "stand-up at nine"},
		Key:   "ana/2026-11-30", // among live tasks of the kind there is one with this key
		Delay: time.Second,
	})
	if err != nil {
		return err
	}
	log.Println("task", res.ID, "was there already:", res.Duplicate)
	return a.Run(ctx) // until ctx ends; then it stops gracefully and returns nil
}

// TestEmbed runs the guide: the reminder is sent and the program ends.
func TestEmbed(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	var got string
	err := run(ctx, func(_ context.Context, who, text string) error {
		got = who + ": " + text
		cancel()
		return nil
	})
	if err != nil || got != "ana: stand-up at nine" {
		t.Errorf("sent %q, %v", got, err)
	}
}

// timed logs how long each attempt took.
func timed(next ax.Handler) ax.Handler {
	return func(ctx context.Context, t *ax.Task) error {
		began := time.Now()
		err := next(ctx, t)
		ax.Logger(ctx).Info("attempt ended", "took", time.Since(began), "error", err)
		return err
	}
}

var cardNumber = regexp.MustCompile(`\b\d{13,19}\b`)

func config() ax.Config {
	return ax.Config{
		Middleware: []ax.Middleware{timed},
		Redact:     func(s string) string { return cardNumber.ReplaceAllString(s, "****") },
	}
}

func handleReports(a *ax.Scheduler, send ax.Handler) error {
	return a.Handle("report.send", send, ax.MaxRetries(3), ax.Retry(retry.Policy{
		Kind:     retry.List,
		DelaysMS: []int64{1_000, 60_000, 600_000}, // the last one repeats
	}))
}

// TestReports: the delays are those of the list.
func TestReports(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		var mu sync.Mutex
		var at []time.Duration
		began := time.Now()
		err := handleReports(tt.Scheduler, func(context.Context, *ax.Task) error {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(began).Truncate(time.Second))
			return errors.New("the printer is on fire")
		})
		if err != nil {
			tt.Fatal(err)
		}
		if _, err := tt.Delay(tt.Context(), "report.send", "", 0, nil); err != nil {
			tt.Fatal(err)
		}
		tt.Advance(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if want := []time.Duration{0, time.Second, 61 * time.Second, 661 * time.Second}; !slices.Equal(
			at, want) {
			tt.Errorf("attempts after %v, want %v", at, want)
		}
	})
}

// errGone is what a target says that will never take it.
var errGone = errors.New("the account is closed")

// TestConfig: the middleware is called, and no card number is stored.
func TestConfig(t *testing.T) {
	axtest.Run(t, config(), func(tt *axtest.T) {
		tt.Handle("charge", func(_ context.Context, t *ax.Task) error {
			if t.Key == "gone" {
				return ax.Permanent(errGone)
			}
			return errors.New("card 4111111111111111 was refused")
		})
		for _, key := range []string{"gone", "refused"} {
			if _, err := tt.Delay(tt.Context(), "charge", key, 0, nil); err != nil {
				tt.Fatal(err)
			}
		}
		tt.RunDue()
		tt.WantState(tt.Submitted("charge", "gone").ID, task.Dead)
		if got := tt.Submitted("charge", "refused").Error; strings.Contains(got, "4111") ||
			!strings.Contains(got, "card **** was refused") {
			tt.Errorf("stored %q", got)
		}
	})
}
