// Package store is the contract between the scheduler and the table that holds the truth.
//
// A store is used through small roles: a package takes the role it needs. One verb changes
// states, [Applier.Apply]; creations are [Inserter.Insert] and [JobStore.Fire]; nothing else writes
// a state. What every implementation must do is tested by package storetest.
//
// # Rules for implementations
//
//   - Every method is safe for concurrent use and honours its context.
//   - A method that returns nil has made its effect durable. One that returns an error may have
//     made it too (the answer was lost, the context ended under way, or it was one of several
//     transactions); each row is whole or untouched, and the caller may repeat the call: rows have
//     ids made by the client and updates are conditional, so a repeat is harmless.
//   - One statement of time per transaction, read from the database's clock; [task.StoreNow] in a
//     value stands for it.
//   - The fence is checked in the same transaction as the write.
//   - Deadlocks, serialisation failures and busy errors are repeated inside.
package store

import "errors"

// Errors that stores return; match them with errors.Is.
var (
	// ErrFenced: the fence's token is not the installed one. A newer leader exists.
	ErrFenced = errors.New("fenced: a newer leader holds the token")
	// ErrNotFound: no such row.
	ErrNotFound = errors.New("not found")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrNewer: the database was made by a newer version of ax.
	ErrNewer = errors.New("database is newer than this program; upgrade the program")
	// ErrOlder: the tables are those of an older version of ax, or there are none, and the store was
	// told not to change them.
	ErrOlder = errors.New("database has not been migrated; `ax migrate up` does it")
	// ErrDamaged: the file or schema is not one that ax wrote.
	ErrDamaged = errors.New("database is damaged or not one of ax")
	// ErrBusy: another writer held the database longer than the busy time-out.
	ErrBusy = errors.New("database is busy")
	// ErrFull: the disk or the quota is full. Nothing was written.
	ErrFull = errors.New("disk is full")
	// ErrReadOnly: the database cannot be written (a standby, a read-only file or role).
	ErrReadOnly = errors.New("database is read-only")
)
