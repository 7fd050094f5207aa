// Package task holds the nouns of ax and the one table of legal moves.
//
// A [Task] is one unit of work and one row. It changes only by a [Transition]: a list of moves
// that a store applies together with their history rows, on the condition that the row still has
// the state and version the decision was made on. [Next] says which moves exist; nothing else in
// ax chooses a state.
//
// The package is pure: no clock, no goroutine, no I/O, and it imports nothing of ax.
package task
