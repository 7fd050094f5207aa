package task

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// story builds a history from events; each claim begins a new execution.
func story(t *testing.T, events ...Event) (h []Entry) {
	t.Helper()
	at, e := None, Entry{}
	for i, ev := range events {
		to, err := Next(at, ev)
		if err != nil {
			t.Fatal(err)
		}
		switch ev {
		case Claim, ClaimLocal, SubmitClaimed:
			e.Attempt++
			e.ExecutionID, e.Executor = ID{byte(i + 1)}, "n1"
			e.Epoch, e.Token = int64(i+1), int64(i+2)
		case Redrive:
			e = Entry{}
		case Trigger:
			if at.Final() {
				e = Entry{}
			}
		}
		e.Version, e.At, e.From, e.To, e.Event = int64(i+1), Time(1000*(i+1)), at, to, ev
		e.Detail = "said at " + ev.String()
		e.Reason = 0
		if ev == Bury {
			e.Reason = Permanent
		}
		h = append(h, e)
		at = to
	}
	return h
}

func TestExecutions(t *testing.T) {
	begun := func(i, run, attempt int) Execution { // by the i-th event, from 1
		return Execution{ID: ID{byte(i)}, Run: run, Attempt: attempt, Executor: "n1",
			Epoch: int64(i), Token: int64(i + 1), StartedAt: Time(1000 * i)}
	}
	ended := func(x Execution, i int, o Outcome, words string) Execution {
		x.Outcome, x.FinishedAt, x.Error = o, Time(1000*i), words
		return x
	}
	for name, tt := range map[string]struct {
		events []Event
		want   []Execution
	}{
		"none yet": {[]Event{Submit}, nil},
		"one runs": {[]Event{Submit, ClaimLocal}, []Execution{begun(2, 1, 1)}},
		"it succeeds": {[]Event{SubmitClaimed, Succeed},
			[]Execution{ended(begun(1, 1, 1), 2, OutSucceeded, "")}},
		"a retry": {[]Event{Submit, ClaimLocal, Fail, Retry, ClaimLocal, Stop, TimeOut, Retry,
			ClaimLocal}, []Execution{ended(begun(2, 1, 1), 3, OutFailed, "said at fail"),
			ended(begun(5, 1, 2), 7, OutTimeout, "said at time_out"), begun(9, 1, 3)}},
		"a late success": {[]Event{SubmitClaimed, Lose, Recover, Succeed},
			[]Execution{ended(begun(1, 1, 1), 4, OutSucceeded, "")}},
		"held, then reported": {[]Event{SubmitClaimed, TimeOut, Hold, Fail, Bury}, []Execution{
			func() Execution {
				x := ended(begun(1, 1, 1), 4, OutFailed, "said at fail")
				x.Permanent = true
				return x
			}()}},
		"held, canceled by a person": {[]Event{SubmitClaimed, Hold, Cancel},
			[]Execution{begun(1, 1, 1)}},
		"canceled while it waits": {[]Event{SubmitClaimed, Snooze, Cancel},
			[]Execution{ended(begun(1, 1, 1), 2, OutSnoozed, "said at snooze")}},
		"canceled while it runs": {[]Event{SubmitClaimed, AskCancel, Cancel},
			[]Execution{ended(begun(1, 1, 1), 3, OutCanceled, "said at cancel")}},
		"released, lost": {[]Event{SubmitClaimed, HandBack, ClaimLocal, Lose, Recover},
			[]Execution{ended(begun(1, 1, 1), 2, OutReleased, "said at hand_back"),
				ended(begun(3, 1, 2), 4, OutLost, "said at lose")}},
		"three runs": {[]Event{SubmitClaimed, Succeed, Trigger, ClaimLocal, Fail, Bury, Redrive,
			ClaimLocal}, []Execution{ended(begun(1, 1, 1), 2, OutSucceeded, ""),
			func() Execution {
				x := ended(begun(4, 2, 1), 5, OutFailed, "said at fail")
				x.Permanent = true
				return x
			}(), begun(8, 3, 1)}},
		"triggered while it waits": {[]Event{Submit, Trigger, ClaimLocal},
			[]Execution{begun(3, 1, 1)}},
		"elsewhere": {[]Event{Submit, Claim, Return, Claim, Accept}, []Execution{
			func() Execution {
				x := ended(begun(2, 1, 1), 3, OutReleased, "said at return")
				x.StartedAt = 0
				return x
			}(), func() Execution {
				x := begun(4, 1, 2)
				x.StartedAt = 5000
				return x
			}()}},
	} {
		if d := cmp.Diff(tt.want, Executions(story(t, tt.events...))); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if got := Executions(story(t, Submit, ClaimLocal, Fail, Retry)[2:]); len(got) != 0 {
		t.Errorf("a history without its beginning gives %+v", got)
	}
}

func TestTook(t *testing.T) {
	for _, tt := range []struct {
		x    Execution
		want time.Duration
	}{
		{Execution{StartedAt: 1000, FinishedAt: 4000}, 3 * time.Millisecond},
		{Execution{StartedAt: 4000, FinishedAt: 1000}, 0}, // the store's clock stepped
		{Execution{StartedAt: 4000}, 0}, {Execution{FinishedAt: 4000}, 0},
	} {
		if got := tt.x.Took(); got != tt.want {
			t.Errorf("from %d to %d it took %s; want %s", tt.x.StartedAt, tt.x.FinishedAt, got, tt.want)
		}
	}
}
