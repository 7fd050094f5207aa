package task

import "fmt"

// Move is one step of a transition; it becomes one history row.
type Move struct {
	Event  Event
	From   State
	To     State
	Reason Reason
	Actor  string // the person or part that caused it; "" is the scheduler itself
	Detail string // words for a reader: an error text, a person's reason
}

// Transition is a list of moves of one task that a store applies together: the row changes only
// if it still has the expected version (and execution, and is due, where asked), its version grows
// by the number of moves, and one history row a move is written in the same transaction.
//
// Build one with [Begin] and [Transition.Then]; an illegal step marks it, and stores refuse it.
type Transition struct {
	ID      ID
	Version int64 // expected
	From    State // expected
	// Execution, unless zero, must be the row's execution: outcomes carry it instead of a token.
	Execution ID
	// WhenDue makes the store repeat "run_at <= store now"; a row that is not due stays.
	WhenDue bool
	// TakeKey and FreeKey take and give back the overlap key, "" for none. Taking a key that
	// another task holds leaves the row alone with the result KeyBusy.
	TakeKey, FreeKey string
	// FreeUnique gives back the (kind, key) of a task that became final.
	FreeUnique bool
	Moves      []Move
	// Set is the whole mutable part after the last move.
	Set Mutable

	err error
}

// Begin starts a transition of t as it was read. Set starts as t's mutable part: change what the
// moves change.
func Begin(t *Task) *Transition {
	return &Transition{ID: t.ID, Version: t.Version, From: t.State, Set: t.Mutable}
}

// Then appends a move by event e. An illegal one is remembered and found by Check; the state is
// left as it was.
func (tr *Transition) Then(e Event, r Reason, detail string) *Transition {
	return tr.By("", e, r, detail)
}

// By is Then with an actor.
func (tr *Transition) By(actor string, e Event, r Reason, detail string) *Transition {
	to, err := Next(tr.Set.State, e)
	if err != nil {
		if tr.err == nil {
			tr.err = fmt.Errorf("task %s: %w", tr.ID, err)
		}
		return tr
	}
	tr.Moves = append(tr.Moves, Move{Event: e, From: tr.Set.State, To: to, Reason: r,
		Actor: actor, Detail: detail})
	tr.Set.State = to
	return tr
}

// Keys decides which keys the transition of t takes and frees, from the row before and after. Call
// it last.
func (tr *Transition) Keys(t *Task) *Transition {
	after := *t
	after.Mutable = tr.Set
	switch held, holds := t.HoldsKey(), after.HoldsKey(); {
	case !held && holds:
		tr.TakeKey = t.OverlapKey
	case held && !holds:
		tr.FreeKey = t.OverlapKey
	}
	tr.FreeUnique = t.Key != "" && !t.State.Final() && after.State.Final()
	return tr
}

// Check reports why the transition may not be applied: a move that is not in the table, a chain
// that does not join, or one that rests in a state of attempts. Stores call it before they write.
func (tr *Transition) Check() error {
	if tr.err != nil {
		return tr.err
	}
	if len(tr.Moves) == 0 {
		return fmt.Errorf("task %s: %w: no move", tr.ID, ErrIllegal)
	}
	at := tr.From
	for _, m := range tr.Moves {
		to, err := Next(m.From, m.Event)
		if err != nil {
			return fmt.Errorf("task %s: %w", tr.ID, err)
		}
		if m.From != at || m.To != to {
			return fmt.Errorf("task %s: %w: %s leads %s to %s, not %s to %s", tr.ID, ErrIllegal,
				m.Event, m.From, to, at, m.To)
		}
		at = to
	}
	if at != tr.Set.State || !at.Resting() {
		return fmt.Errorf("task %s: %w: a row cannot rest in %s", tr.ID, ErrIllegal, at)
	}
	return nil
}

// Entry is one row of a task's history. Versions run 1, 2, 3 ... without a gap.
type Entry struct {
	TaskID      ID
	Version     int64
	At          Time
	From        State
	To          State
	Event       Event
	Actor       string
	Reason      Reason
	ExecutionID ID
	Attempt     int
	Executor    string
	Epoch       int64
	Token       int64
	Detail      string
}
