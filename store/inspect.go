package store

import (
	"context"
	"time"

	"github.com/ax-sched/ax/task"
)

// Inspector is an extra of stores that look at the database itself: at what their migrations make,
// and at what hurts them there. It is for a person who asks what is wrong, not for a loop.
type Inspector interface {
	// Inspect reads the catalogue and the statistics of the database, never the rows of tasks, and
	// changes nothing.
	Inspect(ctx context.Context) (Inspection, error)
}

// Inspection is what an Inspector has found. Fields that a database has nothing to say about are
// zero.
type Inspection struct {
	Schema SchemaVersion
	// Faults are tables and indexes that differ from what the migrations make.
	Faults []SchemaFault
	// Transactions are those that have been open for a minute or longer in this database, by
	// whatever program, the oldest first, at most 20. Nothing that was deleted or replaced since
	// the oldest began can be cleaned up.
	Transactions []OpenTransaction
	// Unclean are tables of ax that nobody cleans up.
	Unclean []UncleanTable
}

// SchemaVersion compares the tables in a database with what a program knows.
type SchemaVersion struct {
	Installed int // in the database; 0: it has no tables of ax
	Newest    int // that this program knows
}

// SchemaFault is one table or index that is not as the migrations make it.
type SchemaFault struct {
	Object  string // "table" or "index"
	Name    string
	Problem string // "missing", "invalid" (the database does not use it) or "differs"
}

// OpenTransaction is one that has been open for long.
type OpenTransaction struct {
	Session int64 // by which the database's own tools name it
	Program string
	State   string // what it does now, in the words of the database
	Since   task.Time
	Age     time.Duration
}

// UncleanTable is a table whose dead rows nobody removes.
type UncleanTable struct {
	Name       string
	Live, Dead int64 // rows, as the database estimates them
	Off        bool  // cleaning is switched off for this table, or for the whole server
}
