package postgres

// openDatabase asks what a store must know before anything else. A NULL schema means that
// the search_path names none that exists.
const openDatabase verb = `
SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
       coalesce(nullif($1::text, ''), current_schema()),
       to_regnamespace(quote_ident(coalesce(nullif($1::text, ''), current_schema()))) IS NOT NULL`

// findTables reports whether the two tables exist. It reads the catalogue as a table:
// to_regclass answers from a cache that, in the middle of a transaction, need not know yet what
// another program has just made.
const findTables verb = `
SELECT coalesce(bool_or(c.relname = 'ax_meta'), false),
       coalesce(bool_or(c.relname = 'ax_tasks'), false)
  FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname = $1::text AND c.relname IN ('ax_meta', 'ax_tasks')`

// readMeta reads who made the tables and their version.
const readMeta verb = `
SELECT max(value) FILTER (WHERE name = 'product'), max(value) FILTER (WHERE name = 'schema_version')
  FROM schema.ax_meta`

// writeVersion notes that a migration ran.
const writeVersion verb = `
INSERT INTO schema.ax_meta (name, value) VALUES ('schema_version', $1::text)
ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value`

// lockName serialises rare writers by a name, until the end of the transaction.
const lockName verb = `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0)) IS NULL`

// readClock is the store's time in microseconds. now() would be the start of the transaction.
const readClock verb = `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
