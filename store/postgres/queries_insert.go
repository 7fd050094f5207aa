package postgres

// insertTasks makes rows and their first history entries, in one round trip and one transaction.
//
// $6 is 1..n and most other arrays are read by subscript: PostgreSQL materialises each argument of
// an unnest of its own, which costs up to ten times as much. Only texts that differ in each row are
// arguments, because a subscript walks over those before; others are in the dictionary $49, and
// their arrays have places in it.
//
// ON CONFLICT names no index, so an id, a live (kind, key) and a fire that exist already all leave
// their row out; the caller sees the count and asks for the reason. The hint goes with the commit.
// It costs about as much as the rest of a small insert, so it is only sent if somebody listens,
// which shows by the lock that listenLock takes.
const insertTasks verb = `
WITH fence AS MATERIALIZED (
    SELECT token FROM schema.ax_partitions WHERE partition = $1::integer FOR SHARE
), clock AS MATERIALIZED (
    SELECT coalesce(nullif($5::bigint, 0),
                    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
), made AS (
    INSERT INTO schema.ax_tasks AS t (
        version, created_at, updated_at, ukey,
        id, kind, key, grp, payload, bucket, job_id, job,
        fire_time, fire_from, fire_count, overlap, overlap_key, max_retries, timeout,
        retry_policy, owner_service, labels,
        state, last_outcome, reason, run, attempt, failures, dispatches, recoveries, run_at,
        executor, epoch, execution_id, token, dispatched_at, started_at, finished_at,
        last_retry_at, triggered_at, cancel_asked, stop_asked, error, result,
        expires_at, max_lateness, max_lifetime, on_unknown)
    SELECT 1, c.now, c.now, key IS NOT NULL,
        ($7::uuid[])[n], coalesce(($49::text[])[($8::integer[])[n]], ''), key,
        coalesce(($49::text[])[($10::integer[])[n]], ''), payload, ($12::smallint[])[n],
        ($13::uuid[])[n], ($49::text[])[($14::integer[])[n]],
        CASE ($15::bigint[])[n] WHEN -1 THEN
            CASE ($33::bigint[])[n] WHEN -1
                THEN least(c.now + coalesce(($34::bigint[])[n], 0), 253402300799999999)
                ELSE ($33::bigint[])[n] END
            WHEN 0 THEN NULL ELSE ($15::bigint[])[n] END,
        ($16::bigint[])[n], ($17::integer[])[n], ($18::smallint[])[n],
        ($49::text[])[($19::integer[])[n]], ($20::integer[])[n], ($21::bigint[])[n],
        ($49::text[])[($22::integer[])[n]], ($49::text[])[($23::integer[])[n]],
        ($49::text[])[($24::integer[])[n]],
        ($25::smallint[])[n], ($26::smallint[])[n], ($27::smallint[])[n],
        ($28::integer[])[n], ($29::integer[])[n], ($30::integer[])[n], ($31::integer[])[n],
        ($32::integer[])[n],
        CASE ($33::bigint[])[n] WHEN -1
            THEN least(c.now + coalesce(($34::bigint[])[n], 0), 253402300799999999)
            ELSE coalesce(($33::bigint[])[n], 0) END,
        ($49::text[])[($35::integer[])[n]], ($36::bigint[])[n], ($37::uuid[])[n],
        ($38::bigint[])[n],
        CASE ($39::bigint[])[n] WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($39::bigint[])[n] END,
        CASE ($40::bigint[])[n] WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($40::bigint[])[n] END,
        CASE ($41::bigint[])[n] WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($41::bigint[])[n] END,
        CASE ($42::bigint[])[n] WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($42::bigint[])[n] END,
        CASE ($43::bigint[])[n] WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($43::bigint[])[n] END,
        CASE ($44::bigint[])[n] WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($44::bigint[])[n] END,
        CASE ($45::bigint[])[n] WHEN -1 THEN c.now WHEN 0 THEN NULL ELSE ($45::bigint[])[n] END,
        ($46::text[])[n], ($47::bytea[])[n],
        ($50::bigint[])[n], ($51::bigint[])[n], ($52::bigint[])[n], ($53::smallint[])[n]
      FROM clock c, unnest($6::integer[], $9::text[], $11::bytea[]) AS u (n, key, payload)
     WHERE NOT $3::boolean OR coalesce((SELECT token FROM fence), 0) = $2::bigint
    ON CONFLICT DO NOTHING
    RETURNING t.id, t.created_at, t.state, t.run_at, t.execution_id, t.attempt, t.executor,
        t.epoch, t.token, t.reason
), said AS (
    INSERT INTO schema.ax_history (task_id, version, at, from_state, to_state, event, reason,
        execution_id, attempt, executor, epoch, token)
    SELECT id, 1, created_at, 0, state,
        CASE WHEN state = 10 THEN 5 WHEN $4::smallint > 0 THEN $4::smallint
             WHEN state = 4 THEN 3 ELSE 1 END, reason,
        execution_id, attempt, executor, epoch, token
      FROM made
)
SELECT (SELECT now FROM clock),
       CASE WHEN $3::boolean THEN coalesce((SELECT token FROM fence), 0) ELSE 0 END,
       count(*)::integer,
       CASE WHEN $48::text <> '' AND min(run_at) FILTER (WHERE state = 2)
                < (SELECT now FROM clock) + 4000000
            THEN CASE WHEN NOT pg_try_advisory_xact_lock(hashtextextended($48::text, 0))
                      THEN pg_notify($48::text, min(run_at)::text) IS NULL END END
  FROM made`

// insertOne is insertTasks for a single scheduled task that has only what most submits have, and no
// fence. Starting a statement costs by its length: this one costs half as much. It returns no row
// if something exists already; insertTasks then finds out.
const insertOne verb = `
WITH made AS (
    INSERT INTO schema.ax_tasks AS t (
        version, created_at, updated_at, ukey, id, kind, grp, key, payload, bucket, fire_time,
        overlap, overlap_key, max_retries, timeout, retry_policy, owner_service, labels, state,
        run, run_at)
    SELECT 1, c.now, c.now, $4::text IS NOT NULL, $1::uuid, $2::text, $3::text, $4::text,
        $5::bytea, $6::smallint,
        CASE $7::bigint WHEN -1 THEN coalesce($8::bigint, c.due) ELSE $7::bigint END,
        $10::smallint, $11::text, $12::integer, $13::bigint, $14::text, $15::text, $16::text, 2,
        $17::integer, coalesce($8::bigint, c.due)
      FROM (SELECT now, least(now + $9::bigint, 253402300799999999) AS due
              FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
                    OFFSET 0) AS k OFFSET 0) AS c
    ON CONFLICT DO NOTHING
    RETURNING t.id, t.created_at, t.run_at
), said AS (
    INSERT INTO schema.ax_history (task_id, version, at, from_state, to_state, event)
    SELECT id, 1, created_at, 0, 2, 1 FROM made
)
SELECT created_at,
       CASE WHEN $18::text IS NOT NULL AND run_at < created_at + 4000000
            THEN CASE WHEN NOT pg_try_advisory_xact_lock(hashtextextended($18::text, 0))
                      THEN pg_notify($18::text, run_at::text) IS NULL END END
  FROM made`

// listenLock is held by each session that listens. Two inserts at once keep each other from taking
// the lock too and then send a hint that nobody hears, which does no harm.
const listenLock = "SELECT pg_advisory_lock_shared(hashtextextended($1::text, 0)) IS NULL"

// existing finds the rows that kept an insert from making its own: $1 is 1..n, and of each place
// the row with the id comes first, then the live one with the (kind, key), then the fire's.
const existing verb = `
SELECT n, t.id, t.state, t.version, t.run_at
  FROM unnest($1::integer[]) AS n
  JOIN LATERAL (
    SELECT 1 AS rank, id, state, version, run_at FROM schema.ax_tasks
     WHERE id = ($2::uuid[])[n]
    UNION ALL
    SELECT 2, id, state, version, run_at FROM schema.ax_tasks
     WHERE kind = ($3::text[])[n] AND key = ($4::text[])[n] AND ukey
    UNION ALL
    SELECT 3, id, state, version, run_at FROM schema.ax_tasks
     WHERE job_id = ($5::uuid[])[n] AND fire_time = ($6::bigint[])[n]
     ORDER BY rank LIMIT 1
  ) t ON true`
