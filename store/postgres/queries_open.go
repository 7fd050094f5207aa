package postgres

// lockName serialises rare writers by a name, until the end of the transaction.
const lockName verb = `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0)) IS NULL`

// readClock is the store's time in microseconds. now() would be the start of the transaction.
const readClock verb = `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
