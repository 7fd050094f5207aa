// Package mysql keeps tasks in a database of MySQL 8.0 or MariaDB 10.6, or later ones. It is tested
// on MariaDB 10.11; MySQL itself was not run, only written for: what it lacks of MariaDB, and the
// reverse, is not used.
//
// Several processes may open the same database; one of them leads. Several services share a
// database by a prefix of the tables' names, see [TablePrefix].
//
// Calls that wait at the same time share a transaction, of 200 rows at most. Inserts, claims,
// outcomes and reads have connections of their own, and leases one more. Sessions are READ
// COMMITTED and strict, and wait for a lock for a second: a row that a foreign transaction holds is
// left out then and answered as locked, an insert whose key it holds waits alone. Times are
// microseconds in UTC, so the time zones of sessions and of the server do not matter. Texts are
// kept and compared as bytes; CONVERT(kind USING utf8mb4) shows one to a person.
//
// # The account
//
// It needs SELECT, INSERT, UPDATE and DELETE, and CREATE, ALTER and INDEX to make the tables, if
// nobody makes them by hand ([Dump], [NoMigrate]). A new leader ends the sessions of one that was
// stopped in the middle of a write; ending sessions of the same account takes no right. A payload
// or result of n bytes is sent as a text of 2 n: max_allowed_packet of the server, 16 MB or more by
// default, must leave room for that.
//
// # Transactions of yours
//
// A task that is submitted in a *sql.Tx of yours ([Store.InsertTx]) exists when that commits, and
// never existed when it rolls back. Begin it with the driver github.com/go-sql-driver/mysql on the
// same database. A deadlock ends your transaction as a whole, as any statement of it may. Of a
// duplicate the task that has the key is locked shared until your transaction ends, and does not
// start or end before. Nobody announces your commit; a task that is due is found within a poll
// (2 s).
package mysql
