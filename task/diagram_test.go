package task_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ax-sched/ax/task"
)

const (
	diagramBegin = "<!-- begin: made from package task by its test; AX_GOLDEN=1 rewrites it -->\n"
	diagramEnd   = "<!-- end -->\n"
)

// TestDiagram keeps docs/state-machine.md in step with the table of moves. AX_GOLDEN=1 rewrites
// the part between the marks.
func TestDiagram(t *testing.T) {
	path := filepath.Join("..", "docs", "state-machine.md")
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(old), diagramBegin)
	_, tail, closed := strings.Cut(rest, diagramEnd)
	if !ok || !closed {
		t.Fatalf("%s has not the marks %q and %q", path, diagramBegin, diagramEnd)
	}
	want := head + diagramBegin + diagram(t) + diagramEnd + tail
	if want == string(old) {
		return
	}
	if os.Getenv("AX_GOLDEN") == "" {
		t.Fatalf("%s differs from the table of moves; AX_GOLDEN=1 go test ./task rewrites it", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// diagram returns the generated part: a picture, the states and the moves.
func diagram(t *testing.T) string {
	var b strings.Builder
	b.WriteString("\n```mermaid\nstateDiagram-v2\n")
	for _, e := range edges() {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", node(e.from), node(e.to), strings.Join(e.events, ", "))
	}
	for _, s := range task.States() {
		if s.Final() {
			fmt.Fprintf(&b, "    %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n\n| number | state | class | meaning |\n|---|---|---|---|\n")
	for _, s := range task.States() {
		words, ok := stateWords[s]
		if !ok {
			t.Errorf("state %s has no words in this test", s)
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", s, s, class(s), words)
	}
	b.WriteString("\n| from | event | to | when |\n|---|---|---|---|\n")
	for _, l := range task.Moves() {
		words, ok := eventWords[l.Event]
		if !ok {
			t.Errorf("event %s has no words in this test", l.Event)
		}
		from := l.From.String()
		if l.From == task.None {
			from = "-"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", from, l.Event, l.To, words)
	}
	b.WriteString("\n")
	return b.String()
}

// edge is all moves between two states.
type edge struct {
	from, to task.State
	events   []string
}

// edges joins the moves between two states to one arrow, in the order of the table.
func edges() []edge {
	var all []edge
next:
	for _, l := range task.Moves() {
		for i := range all {
			if all[i].from == l.From && all[i].to == l.To {
				all[i].events = append(all[i].events, l.Event.String())
				continue next
			}
		}
		all = append(all, edge{l.From, l.To, []string{l.Event.String()}})
	}
	return all
}

func node(s task.State) string {
	if s == task.None {
		return "[*]"
	}
	return s.String()
}

func class(s task.State) string {
	switch {
	case s.Final():
		return "final"
	case s.Live():
		return "live"
	case s.Resting():
		return "waits"
	}
	return "attempt"
}

var stateWords = map[task.State]string{
	task.Pending:   "accepted; waits for its parents or for a person",
	task.Scheduled: "has an instant at which it is due; after a crash the next leader reads it",
	task.Dispatching: "claimed for an executor that has not answered; the same execution is sent " +
		"again until it answers or its epoch is retired",
	task.Running: "an executor has recorded the execution and started; recovered only when that " +
		"executor's epoch is retired",
	task.Succeeded: "the last attempt succeeded",
	task.Failed:    "an attempt ended with an error or was lost; the row moves on at once",
	task.Timeout:   "an attempt did not end in time; the row moves on at once",
	task.Dead:      "will not run again by itself; the reason says why",
	task.Canceled:  "a person, a client or the handler ended it",
	task.Skipped:   "a policy decided that it does not run; the reason says which",
	task.Held:      "nobody knows the outcome; a person decides, and until then it keeps its keys",
}

var eventWords = map[task.Event]string{
	task.Submit:        "somebody submits it",
	task.SubmitWaiting: "somebody submits it with parents, or to be released by a person",
	task.SubmitClaimed: "submitted in the leader's process, due and with a free slot",
	task.Fire:          "a job fires",
	task.FireSkip:      "a job's policy records a fire without running it",
	task.Release:       "its parents are done, or a person releases it",
	task.ParentSkip:    "a parent's end skips it by the policy of the edge",
	task.ParentCancel:  "a parent's end cancels it by the policy of the edge",
	task.Reschedule:    "its time, priority or payload changes",
	task.Claim:         "the leader assigns it to an executor",
	task.ClaimLocal:    "the leader starts it in its own process",
	task.Skip:          "a policy does not run it: overlap, superseded, too late",
	task.Supersede:     "a newer fire replaces this one, which has failed",
	task.Expire:        "it was not started in time",
	task.Accept:        "the executor says that it has recorded and started it",
	task.Return:        "the executor surely did not take it",
	task.Undeliver:     "no executor took it within its dispatch retries",
	task.Succeed:       "the execution reports success; a late report counts too",
	task.Fail:          "the execution reports an error",
	task.TimeOut:       "the execution is past its hard time-out and has ended, or does not answer",
	task.Stop:          "it is past its hard time-out; its context is ended",
	task.AskCancel:     "somebody cancels it while it runs",
	task.Cancel:        "somebody cancels it, or the canceled execution has ended",
	task.Lose:          "the epoch of its executor was retired",
	task.Hold:          "the outcome is unknown and the task's policy is to hold",
	task.Snooze:        "the handler asks for a later time; no retry is spent",
	task.HandBack:      "its process shuts down; no retry is spent",
	task.Retry:         "a retry is allowed",
	task.Recover:       "the lost execution is made good; no retry is spent",
	task.Bury:          "no retry is left, or none can help",
	task.Rerun:         "a person answers: run it again",
	task.Settle:        "a person answers: it has succeeded",
	task.GiveUp:        "a person answers: give it up",
	task.Redrive:       "a person retries it; a new run begins",
	task.Trigger:       "a person runs it now",
}
