// Package sqlite keeps tasks in one SQLite file: the store for one machine.
//
// One process leads, others on the same machine may submit and read through the same file. The
// right to lead is a lock of the operating system on a file beside the database, which the kernel
// gives back when the process dies, however it dies: see [Store.Leases].
//
// Writes of all goroutines are gathered: one of the callers becomes the writer, takes what waits
// and commits it in one transaction, and each call returns when its own commit is durable. Reads
// have connections of their own and see what was committed before they began.
//
// The file is in WAL mode: beside it lie "-wal" and "-shm" files, which belong to it. Within the
// process nothing but the driver modernc.org/sqlite may open the database file: closing a file that
// was opened by other means drops the locks of SQLite (a property of POSIX locks).
//
// # Transactions of yours
//
// Tables of your own may lie in the same file; [Shared] adds those of ax to a file that has some
// already. Open your handle with the driver modernc.org/sqlite:
//
//	db, err := sql.Open("sqlite", "file:shop.db?_txlock=immediate&_pragma=busy_timeout(10000)")
//
// A task that is submitted in a *sql.Tx of it ([Store.InsertTx]) exists when that commits, and
// never existed when it rolls back. SQLite has one writer at a time: from the first write of your
// transaction to its end all other writers wait, and ax is one of them. Keep such transactions
// short, and never submit by other means inside of one: that waits for itself until [BusyTimeout].
// A running scheduler warns when it had to wait for a second. Without _txlock=immediate a
// transaction that reads before it writes fails with store.ErrBusy if anybody wrote in between,
// and without a busy time-out any other write makes it fail.
//
// Nobody announces your commit. A task that is due 2.5 s after it or later starts on time; one
// that is due earlier is looked for again and again by the process that submitted it, if that runs
// the scheduler, and found by others within a poll (2 s); one that is overdue by more than two
// polls when you commit, within 5 s.
package sqlite
