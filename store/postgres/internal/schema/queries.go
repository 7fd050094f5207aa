package schema

// openDatabase asks what a store must know before anything else. A NULL schema means that
// the search_path names none that exists.
const openDatabase = `
SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
       coalesce(nullif($1::text, ''), current_schema()),
       to_regnamespace(quote_ident(coalesce(nullif($1::text, ''), current_schema()))) IS NOT NULL`

// findTables reports whether the two tables exist. It reads the catalogue as a table:
// to_regclass answers from a cache that, in the middle of a transaction, need not know yet what
// another program has just made.
const findTables = `
SELECT coalesce(bool_or(c.relname = 'ax_meta'), false),
       coalesce(bool_or(c.relname = 'ax_tasks'), false)
  FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname = $1::text AND c.relname IN ('ax_meta', 'ax_tasks')`

// readMeta reads who made the tables and their version.
const readMeta = `
SELECT max(value) FILTER (WHERE name = 'product'), max(value) FILTER (WHERE name = 'schema_version')
  FROM schema.ax_meta`

// writeVersion notes that a migration ran.
const writeVersion = `
INSERT INTO schema.ax_meta (name, value) VALUES ('schema_version', '$1')
ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value`

// patience lets a migration wait for another one.
const patience = `SET LOCAL lock_timeout = 0`

// lockName serialises migrations of one schema until the end of the transaction.
const lockName = `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))`

// findObjects lists the tables and indexes of ax. An index that is not valid, or not ready, or
// being dropped is not used: a build of it failed half-way.
const findObjects = `
SELECT c.relname, c.relkind IN ('i', 'I'),
       coalesce(i.indisvalid AND i.indisready AND i.indislive, true)
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_index AS i ON i.indexrelid = c.oid
 WHERE n.nspname = $1::text AND c.relkind IN ('r', 'p', 'i', 'I') AND starts_with(c.relname, 'ax_')`

// findTransactions lists those that have been open for so many seconds, without our own.
const findTransactions = `
SELECT pid, coalesce(application_name, ''), coalesce(state, ''),
       (extract(epoch FROM xact_start) * 1000000)::bigint,
       (extract(epoch FROM clock_timestamp() - xact_start) * 1000000)::bigint
  FROM pg_catalog.pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
   AND xact_start < clock_timestamp() - make_interval(secs => $1::double precision)
   AND backend_type NOT IN ('autovacuum worker', 'walsender')
 ORDER BY xact_start LIMIT 20`

// findUnclean lists tables whose garbage nobody collects: autovacuum is off for them, or there is
// more than one dead row for each live one and more than a hundred thousand of them.
const findUnclean = `
SELECT s.relname, s.n_live_tup, s.n_dead_tup, o.off
  FROM pg_catalog.pg_stat_user_tables AS s
  JOIN pg_catalog.pg_class AS c ON c.oid = s.relid
 CROSS JOIN LATERAL (
       SELECT current_setting('autovacuum') = 'off' OR EXISTS (
              SELECT FROM pg_catalog.pg_options_to_table(c.reloptions)
               WHERE option_name = 'autovacuum_enabled'
                 AND option_value IN ('false', 'off', '0', 'no')) AS off) AS o
 WHERE s.schemaname = $1::text AND starts_with(s.relname, 'ax_')
   AND (o.off OR s.n_dead_tup > 100000 AND s.n_dead_tup > s.n_live_tup)
 ORDER BY s.relname`
