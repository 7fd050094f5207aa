package postgres

// applyMoves changes rows, each on its own condition, and writes their history, in one round trip
// and one transaction.
//
// The order of locks is the fence, then the rows in the order of $5, which the caller has sorted
// by id: the fence is read by a condition without a row, so before any of them. $5 is 1..n and the
// other arrays are read by subscript, with the dictionary in $48 (see insertTasks). The last move
// of each transition is in the arrays, earlier ones are in $40..$47 and point to their
// transition. Nothing but places is returned, because the statement holds the fence until its
// result is read.
const applyMoves verb = `
WITH fence AS MATERIALIZED (
    SELECT token FROM schema.ax_partitions WHERE partition = $1::integer FOR SHARE
), clock AS MATERIALIZED (
    SELECT coalesce(nullif($4::bigint, 0),
                    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
), moved AS (
    UPDATE schema.ax_tasks AS t SET
        version = t.version + 1 + coalesce(($34::smallint[])[n], 0),
        updated_at = c.now,
        ukey = t.key IS NOT NULL AND ($11::smallint[])[n] NOT IN (5, 8, 9, 10),
        state = ($11::smallint[])[n], last_outcome = ($12::smallint[])[n],
        reason = ($13::smallint[])[n], run = ($14::integer[])[n],
        attempt = ($15::integer[])[n], failures = ($16::integer[])[n],
        dispatches = ($17::integer[])[n], recoveries = ($18::integer[])[n],
        run_at = CASE ($19::bigint[])[n] WHEN -1
            THEN least(c.now + coalesce(($20::bigint[])[n], 0), 253402300799999999)
            ELSE coalesce(($19::bigint[])[n], 0) END,
        executor = ($48::text[])[($21::integer[])[n]], epoch = ($22::bigint[])[n],
        execution_id = ($23::uuid[])[n], token = ($24::bigint[])[n],
        dispatched_at = CASE ($25::bigint[])[n]
            WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($25::bigint[])[n] END,
        started_at = CASE ($26::bigint[])[n]
            WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($26::bigint[])[n] END,
        finished_at = CASE ($27::bigint[])[n]
            WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($27::bigint[])[n] END,
        last_retry_at = CASE ($28::bigint[])[n]
            WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($28::bigint[])[n] END,
        triggered_at = CASE ($29::bigint[])[n]
            WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($29::bigint[])[n] END,
        cancel_asked = CASE ($30::bigint[])[n]
            WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($30::bigint[])[n] END,
        stop_asked = CASE ($31::bigint[])[n]
            WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($31::bigint[])[n] END,
        error = ($32::text[])[n], result = ($33::bytea[])[n]
      FROM clock c, unnest($5::integer[]) AS n
     WHERE (NOT $3::boolean OR coalesce((SELECT token FROM fence), 0) = $2::bigint)
       AND t.id = ($6::uuid[])[n]
       AND t.version = ($7::bigint[])[n]
       AND t.state = ($8::smallint[])[n]
       AND (($9::uuid[])[n] IS NULL OR t.execution_id = ($9::uuid[])[n])
       AND (($10::boolean[])[n] IS NOT TRUE OR t.run_at <= c.now)
    RETURNING n, t.id, t.version, t.updated_at, t.state, t.execution_id, t.attempt, t.executor,
        t.epoch, t.token
), said AS (
    INSERT INTO schema.ax_history (task_id, version, at, from_state, to_state, event, reason,
        actor, detail, execution_id, attempt, executor, epoch, token)
    SELECT m.id, m.version, m.updated_at, ($35::smallint[])[n], m.state, ($36::smallint[])[n],
        ($37::smallint[])[n], ($48::text[])[($38::integer[])[n]], ($39::text[])[n],
        m.execution_id, m.attempt, m.executor, m.epoch, m.token
      FROM moved m
    UNION ALL
    SELECT m.id, m.version - e.before, m.updated_at, e.from_state, e.to_state, e.event, e.reason,
        e.actor, e.detail, m.execution_id, m.attempt, m.executor, m.epoch, m.token
      FROM unnest($40::integer[], $41::smallint[], $42::smallint[], $43::smallint[],
                  $44::smallint[], $45::smallint[], $46::text[], $47::text[])
           AS e(n, before, from_state, to_state, event, reason, actor, detail)
      JOIN moved m ON m.n = e.n
)
SELECT (SELECT now FROM clock),
       CASE WHEN $3::boolean THEN coalesce((SELECT token FROM fence), 0) ELSE 0 END,
       count(*)::integer,
       CASE WHEN count(*) < cardinality($5::integer[]) THEN array_agg(n) END
  FROM moved`

// lockFree locks those of the rows that no other transaction holds, for the rest of the
// transaction, and returns their places.
const lockFree verb = `
SELECT array_agg(l.n) FROM (
    SELECT n FROM unnest($1::integer[]) AS n
      JOIN schema.ax_tasks AS t ON t.id = ($2::uuid[])[n]
       FOR NO KEY UPDATE OF t SKIP LOCKED) l`

// refused reads what keeps transitions from being applied.
const refused verb = `
SELECT n, t.version, t.state, t.execution_id, t.run_at
  FROM unnest($1::integer[]) AS n JOIN schema.ax_tasks AS t ON t.id = ($2::uuid[])[n]`

// holdFence share-locks the installed token until the end of the transaction and reads the clock.
const holdFence verb = `
WITH fence AS MATERIALIZED (
    SELECT token FROM schema.ax_partitions WHERE partition = $1::integer FOR SHARE
)
SELECT coalesce((SELECT token FROM fence), 0),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// takeKeys inserts overlap keys in their order, then reads who holds each. A key of the
// task's own is taken already.
const takeKeys verb = `
WITH taken AS (
    INSERT INTO schema.ax_keys (key, holder)
    SELECT ($2::text[])[n], ($3::uuid[])[n] FROM unnest($1::integer[]) AS n
    ON CONFLICT (key) DO NOTHING
    RETURNING key
)
SELECT n FROM unnest($1::integer[]) AS n JOIN taken ON taken.key = ($2::text[])[n]`

// ownKeys returns the places whose key the task holds already.
const ownKeys verb = `
SELECT n FROM unnest($1::integer[]) AS n
  JOIN schema.ax_keys AS k ON k.key = ($2::text[])[n] AND k.holder = ($3::uuid[])[n]`

// freeKeys gives keys back, each only by its holder.
const freeKeys verb = `
DELETE FROM schema.ax_keys AS k USING unnest($1::integer[]) AS n
 WHERE k.key = ($2::text[])[n] AND k.holder = ($3::uuid[])[n]`
