package postgres

// The statements of keys that stay taken beyond the life of their task. Arrays are read by
// subscript, as in insertTasks.

// keepKeys keeps the (kind, key) of places $2 for their tasks, unless it is kept already and its
// end has not been reached by the time $1, or now. One row with the time comes first, then one for
// each task that got its key. What is kept is looked at before the insert, because the conflict
// would lock its row.
const keepKeys verb = `
WITH clock AS MATERIALIZED (
    SELECT coalesce(nullif($1::bigint, 0),
                    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
), taken AS (
    INSERT INTO schema.ax_kept_keys AS k (kind, key, id, until)
    SELECT ($3::text[])[n], ($4::text[])[n], ($5::uuid[])[n],
        CASE WHEN ($6::bigint[])[n] = -1 THEN NULL
             ELSE least(c.now + coalesce(($6::bigint[])[n], 0), 253402300799999999) END
      FROM clock c, unnest($2::integer[]) AS n
     WHERE NOT EXISTS (
        SELECT FROM schema.ax_kept_keys AS h
         WHERE h.kind = ($3::text[])[n] AND h.key = ($4::text[])[n]
           AND (h.until IS NULL OR h.until > c.now))
     ORDER BY n
    ON CONFLICT (kind, key) DO UPDATE SET id = excluded.id, until = excluded.until
        WHERE k.until <= (SELECT now FROM clock)
    RETURNING k.id
)
SELECT now, NULL::uuid FROM clock
UNION ALL
SELECT 0, id FROM taken`

// dropKeys gives back what keepKeys kept at the time $5 for tasks that were not made then.
const dropKeys verb = `
DELETE FROM schema.ax_kept_keys AS k USING unnest($1::integer[]) AS n
 WHERE k.kind = ($2::text[])[n] AND k.key = ($3::text[])[n] AND k.id = ($4::uuid[])[n]
   AND NOT EXISTS (
    SELECT FROM schema.ax_tasks AS t
     WHERE t.id = k.id AND t.kind = k.kind AND t.key = k.key AND t.created_at = $5::bigint)`

// keepers finds for which tasks keys are kept at the time $4, and those tasks if they exist.
const keepers verb = `
SELECT n, k.id, coalesce(t.state, 0::smallint), coalesce(t.version, 0), coalesce(t.run_at, 0)
  FROM unnest($1::integer[]) AS n
  JOIN schema.ax_kept_keys AS k ON k.kind = ($2::text[])[n] AND k.key = ($3::text[])[n]
       AND (k.until IS NULL OR k.until > $4::bigint)
  LEFT JOIN schema.ax_tasks AS t ON t.id = k.id`

// pruneKept removes kept keys whose end has passed, at most $4 of them, the earliest first. What is
// being replaced is left alone.
const pruneKept verb = `
WITH fence AS MATERIALIZED (
    SELECT token FROM schema.ax_partitions WHERE partition = $1::integer FOR SHARE
), over AS MATERIALIZED (
    SELECT ctid AS at FROM schema.ax_kept_keys
     WHERE until <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
       AND (NOT $3::boolean OR coalesce((SELECT token FROM fence), 0) = $2::bigint)
     ORDER BY until LIMIT $4::integer FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM schema.ax_kept_keys WHERE ctid = ANY (ARRAY(SELECT at FROM over)) RETURNING id
)
SELECT CASE WHEN $3::boolean THEN coalesce((SELECT token FROM fence), 0) ELSE 0 END,
       count(*)::integer
  FROM gone`

// The statements of TxWriter, as keepKeys, dropKeys and keepers: $1 is the JSON of rows, $2 the
// time.
const (
	keepKeysTx verb = `
WITH clock AS MATERIALIZED (
    SELECT coalesce(nullif($2::text::bigint, 0),
                    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
), taken AS (
    INSERT INTO schema.ax_kept_keys AS k (kind, key, id, until)
    SELECT r.kind, r.key, r.id, CASE WHEN r.keep_for <> -1
        THEN least(c.now + r.keep_for, 253402300799999999) END
      FROM clock c, json_to_recordset($1::text::json) AS r (n integer, id uuid, kind text,
        key text, keep_for bigint)
     WHERE NOT EXISTS (
        SELECT FROM schema.ax_kept_keys AS h
         WHERE h.kind = r.kind AND h.key = r.key AND (h.until IS NULL OR h.until > c.now))
     ORDER BY r.n
    ON CONFLICT (kind, key) DO UPDATE SET id = excluded.id, until = excluded.until
        WHERE k.until <= (SELECT now FROM clock)
    RETURNING k.id
)
SELECT now, '' FROM clock
UNION ALL
SELECT 0, id::text FROM taken`

	dropKeysTx verb = `
DELETE FROM schema.ax_kept_keys AS k
 USING json_to_recordset($1::text::json) AS r (id uuid, kind text, key text)
 WHERE k.kind = r.kind AND k.key = r.key AND k.id = r.id
   AND NOT EXISTS (
    SELECT FROM schema.ax_tasks AS t
     WHERE t.id = k.id AND t.kind = k.kind AND t.key = k.key AND t.created_at = $2::text::bigint)`

	keepersTx verb = `
SELECT r.n, k.id::text, coalesce(t.state, 0::smallint), coalesce(t.version, 0),
       coalesce(t.run_at, 0)
  FROM json_to_recordset($1::text::json) AS r (n integer, kind text, key text)
  JOIN schema.ax_kept_keys AS k ON k.kind = r.kind AND k.key = r.key
       AND (k.until IS NULL OR k.until > $2::text::bigint)
  LEFT JOIN schema.ax_tasks AS t ON t.id = k.id`
)
