package task_test

import (
	"errors"
	"testing"

	"github.com/ax-sched/ax/task"
)

// TestMovesAreTheWholeTable asks for every pair of a state and an event, also for numbers that
// mean nothing: Next allows exactly the rows of Moves.
func TestMovesAreTheWholeTable(t *testing.T) {
	type pair struct {
		from  task.State
		event task.Event
	}
	want := map[pair]task.State{}
	for _, l := range task.Moves() {
		p := pair{l.From, l.Event}
		if _, twice := want[p]; twice {
			t.Errorf("%s by %s is in the table twice", l.From, l.Event)
		}
		want[p] = l.To
	}
	allowed := 0
	for from := range 256 {
		for event := range 256 {
			p := pair{task.State(from), task.Event(event)}
			to, err := task.Next(p.from, p.event)
			wanted, legal := want[p]
			if legal != (err == nil) || to != wanted {
				t.Errorf("%s by %s leads to %s, %v; the table says %s", p.from, p.event, to, err,
					wanted)
			}
			if err != nil && !errors.Is(err, task.ErrIllegal) {
				t.Errorf("%s by %s: %v does not match ErrIllegal", p.from, p.event, err)
			}
			if err == nil {
				allowed++
			}
		}
	}
	if allowed != len(task.Moves()) {
		t.Errorf("%d pairs are allowed; the table has %d rows", allowed, len(task.Moves()))
	}
}

func TestMovesReturnsACopy(t *testing.T) {
	task.Moves()[0].To = task.Held
	if to, err := task.Next(task.None, task.Submit); err != nil || to != task.Scheduled {
		t.Errorf("a caller changed the table: %s, %v", to, err)
	}
	if task.Moves()[0].To != task.Scheduled {
		t.Error("a caller changed the table that Moves returns")
	}
}

func TestEveryStateIsReachedAndLeft(t *testing.T) {
	reached := map[task.State]bool{task.None: true}
	for grown := true; grown; {
		grown = false
		for _, l := range task.Moves() {
			if reached[l.From] && !reached[l.To] {
				reached[l.To] = true
				grown = true
			}
		}
	}
	leaves := map[task.State]bool{}
	for _, l := range task.Moves() {
		leaves[l.From] = true
		if l.To == task.None {
			t.Errorf("%s by %s unmakes a task", l.From, l.Event)
		}
	}
	for _, s := range task.States() {
		if !reached[s] {
			t.Errorf("no way leads to %s", s)
		}
		if !leaves[s] {
			t.Errorf("no way leads out of %s", s)
		}
	}
}

func TestEveryEventIsUsed(t *testing.T) {
	used := map[task.Event]bool{}
	for _, l := range task.Moves() {
		used[l.Event] = true
	}
	for _, e := range task.Events() {
		if !used[e] {
			t.Errorf("event %s makes no move", e)
		}
	}
	if len(used) != len(task.Events()) {
		t.Errorf("%d events make moves; %d are listed", len(used), len(task.Events()))
	}
}

// A final state is left only by a person, and each one can be triggered.
func TestFinalStates(t *testing.T) {
	for _, s := range task.States() {
		_, redrive := task.Next(s, task.Redrive)
		_, trigger := task.Next(s, task.Trigger)
		if s.Final() && trigger != nil {
			t.Errorf("%s cannot be triggered", s)
		}
		if wants := s.Final() && s != task.Succeeded; wants != (redrive == nil) {
			t.Errorf("redrive of %s gives %v", s, redrive)
		}
		if !s.Final() {
			continue
		}
		for _, l := range task.Moves() {
			if l.From == s && l.Event != task.Redrive && l.Event != task.Trigger {
				t.Errorf("final %s is left by %s", s, l.Event)
			}
		}
	}
}

// From every state in which a row rests without being final, a person or the scheduler can end it.
func TestEveryRestCanEnd(t *testing.T) {
	for _, s := range task.States() {
		if s.Final() || !s.Resting() {
			continue
		}
		if to, err := task.Next(s, task.Cancel); err != nil || to != task.Canceled {
			t.Errorf("cancel of %s leads to %s, %v", s, to, err)
		}
	}
}

// States of attempts are passed in one transition: each way into them has a way on to a rest.
func TestStatesOfAttemptsAreLeftAtOnce(t *testing.T) {
	for _, s := range []task.State{task.Failed, task.Timeout} {
		for _, l := range task.Moves() {
			if l.From == s && !l.To.Resting() {
				t.Errorf("%s by %s leads to %s, where no row rests", s, l.Event, l.To)
			}
		}
	}
}

// Only a claim starts an execution, and only live or held tasks report one; a scheduled task may
// still succeed by a late report.
func TestExecutionsComeFromClaims(t *testing.T) {
	starts := map[task.Event]bool{task.SubmitClaimed: true, task.Claim: true,
		task.ClaimLocal: true}
	for _, l := range task.Moves() {
		if l.To.Live() && !l.From.Live() && !starts[l.Event] {
			t.Errorf("%s by %s starts an execution", l.From, l.Event)
		}
		outcome := l.Event == task.Succeed || l.Event == task.Fail || l.Event == task.TimeOut
		late := l.From == task.Held || l.From == task.Scheduled && l.Event == task.Succeed
		if outcome && !l.From.Live() && !late {
			t.Errorf("%s reports an execution by %s", l.From, l.Event)
		}
	}
}

// The four classes of states: each state is in one.
func TestClassesOfStates(t *testing.T) {
	classes := map[task.State]string{
		task.None: "none", task.Pending: "waits", task.Scheduled: "waits", task.Held: "waits",
		task.Dispatching: "live", task.Running: "live", task.Failed: "passing",
		task.Timeout: "passing", task.Succeeded: "final", task.Dead: "final",
		task.Canceled: "final", task.Skipped: "final",
	}
	for s, class := range classes {
		if s.Live() != (class == "live") || s.Final() != (class == "final") ||
			s.Resting() != (class != "none" && class != "passing") {
			t.Errorf("%s: live %t, final %t, resting %t; want %s", s, s.Live(), s.Final(),
				s.Resting(), class)
		}
	}
	if got := task.States(); len(got) != len(classes)-1 {
		t.Errorf("%d states are listed; want %d", len(got), len(classes)-1)
	}
	if unknown := task.State(200); unknown.Resting() || unknown.Live() || unknown.Final() {
		t.Error("an unknown state belongs to a class")
	}
}
