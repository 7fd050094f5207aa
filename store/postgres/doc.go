// Package postgres keeps ax in PostgreSQL 13 or later, through pgx.
//
// [Open] connects by a URL, [New] uses a pool of the caller's. Both create or upgrade the tables,
// whose names begin with ax_, in one schema of the database: the one that comes first on the
// connection's search_path, or that of [Schema]. Afterwards every name is qualified, so a later
// change of the search_path does no harm, and several services can share one database.
//
// # Connections
//
// Work is spread over roles, so that none waits behind another: one connection at a time
// inserts, one claims for the leader (two of a pool of more than [MinConns]), one applies outcomes,
// and the others of the pool read. The pool must allow at least [MinConns]. Leases and heartbeats
// have one more connection of their own, also with New: it is made from a copy of the pool's
// configuration.
//
// The connections that Open makes set these for their session, at connect and without a round
// trip: lock_timeout 100 ms (see below), idle_in_transaction_session_timeout 2 s, tcp_user_timeout
// 3 s, plan_cache_mode force_generic_plan, jit off. With New the store sets the first two and the
// plan mode for each of its own transactions, in the same round trip; the pool's owner decides on
// the rest. Nothing is ever set on a transaction of a user's.
//
// # PgBouncer
//
// In transaction mode prepared statements belong to nobody. Put default_query_exec_mode=exec (or
// cache_describe) into the URL: the store then sends each statement with its text, still in one
// round trip. Settings go with each transaction then, as with New. Listen needs a session, so give
// it a store that connects directly, or do without hints. Leases need no session.
//
// # Foreign transactions
//
// A transaction that somebody else left open can hold a row of a task, or the unique key of one.
// Writers wait at most 100 ms for a lock. Then a batch of transitions passes over locked rows and
// answers store.Locked for them, and an insert that meets an open key leaves the batch and waits
// alone, until its context ends.
//
// # Transactions of yours
//
// A task can be submitted or completed in a *sql.Tx or pgx.Tx of yours ([Store.InsertTx],
// [Store.CompleteTx]), also of a pool that the store uses. Nothing is set on it, and the hint goes
// with your commit. If it stays open it delays itself, a submit of a key that it has taken, and the
// task that it has completed, nobody else. A key that another one has open is waited for, until
// your context ends or your session's lock_timeout has passed; two that take keys in different
// orders can deadlock, so submit them in one call, which sorts them. After an error roll back;
// repeat it after a serialisation failure (40001). PREPARE TRANSACTION refuses hints: see [Quiet].
//
// # Hints
//
// The store is also a [store.Hinter]: an insert of a task that is due within seconds is announced
// to other processes. A hint may be lost or late; the table is the truth.
//
// [store.Hinter]: https://pkg.go.dev/github.com/ax-sched/ax/store#Hinter
package postgres
