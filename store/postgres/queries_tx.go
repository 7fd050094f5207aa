package postgres

// The statements of TxWriter. They run on a connection of the caller's, maybe through database/sql
// and any driver, so their parameters are texts: rows come as one JSON array. Their answers are
// bigints and texts.

// insertTx is insertTasks for plain tasks in the caller's transaction. The hint goes with the
// caller's commit, and is sent without asking whether somebody listens: the lock that tells would
// be held as long as the transaction is open. It is sent for what is due within a minute, because
// nobody knows when the commit comes. $3 is the time that keepKeysTx has read, or 0.
const insertTx verb = `
WITH clock AS MATERIALIZED (
    SELECT coalesce(nullif($3::text::bigint, 0),
                    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
), given AS MATERIALIZED (
    SELECT c.now, r.*, CASE r.run_at
            WHEN -1 THEN least(c.now + r.run_in, 253402300799999999) ELSE r.run_at END AS due
      FROM clock c, json_to_recordset($1::text::json) AS r (n integer, id uuid, kind text,
        grp text, key text, payload text, bucket smallint, fire_time bigint, run_at bigint,
        run_in bigint, run integer, overlap smallint, overlap_key text, max_retries integer,
        timeout bigint, retry_policy text, owner_service text, labels text, expires_at bigint,
        max_lateness bigint, max_lifetime bigint, on_unknown smallint)
), made AS (
    INSERT INTO schema.ax_tasks AS t (
        version, created_at, updated_at, ukey, id, kind, grp, key, payload, bucket, fire_time,
        overlap, overlap_key, max_retries, timeout, retry_policy, owner_service, labels, state,
        run, run_at, expires_at, max_lateness, max_lifetime, on_unknown)
    SELECT 1, now, now, key IS NOT NULL, id, kind, grp, key, decode(payload, 'base64'), bucket,
        CASE fire_time WHEN -1 THEN due ELSE fire_time END, overlap, overlap_key, max_retries,
        timeout, retry_policy, owner_service, labels, 2, run, due, expires_at, max_lateness,
        max_lifetime, on_unknown
      FROM given ORDER BY n
    ON CONFLICT DO NOTHING
    RETURNING t.id, t.created_at, t.run_at
), said AS (
    INSERT INTO schema.ax_history (task_id, version, at, from_state, to_state, event)
    SELECT id, 1, created_at, 0, 2, 1 FROM made
)
SELECT c.now, coalesce(m.id::text, ''), coalesce(m.run_at, 0),
       (SELECT CASE WHEN $2::text <> '' AND min(run_at) < (SELECT now FROM clock) + 60000000
               THEN pg_notify($2::text, min(run_at)::text)::text END FROM made) IS NULL
  FROM clock c LEFT JOIN made m ON true`

// existingTx is existing for plain tasks.
const existingTx verb = `
SELECT r.n, t.id::text, t.state, t.version, t.run_at
  FROM json_to_recordset($1::text::json) AS r (n integer, id uuid, kind text, key text)
  JOIN LATERAL (
    SELECT 1 AS rank, id, state, version, run_at FROM schema.ax_tasks WHERE id = r.id
    UNION ALL
    SELECT 2, id, state, version, run_at FROM schema.ax_tasks
     WHERE kind = r.kind AND key = r.key AND ukey
     ORDER BY rank LIMIT 1
  ) t ON true`

// completeTx ends the execution $2 of task $1 as succeeded, if it is the one that runs.
const completeTx verb = `
WITH clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
), moved AS (
    UPDATE schema.ax_tasks AS t SET version = t.version + 1, updated_at = c.now,
        finished_at = c.now, ukey = false, state = 5, last_outcome = 1, reason = NULL,
        error = NULL, result = NULL
      FROM clock c
     WHERE t.id = $1::text::uuid AND t.state = 4
       AND t.execution_id = nullif($2::text, '')::uuid
    RETURNING t.id, t.version, t.updated_at, t.execution_id, t.attempt, t.executor, t.epoch,
        t.token, t.overlap_key
), said AS (
    INSERT INTO schema.ax_history (task_id, version, at, from_state, to_state, event,
        execution_id, attempt, executor, epoch, token)
    SELECT id, version, updated_at, 4, 5, 18, execution_id, attempt, executor, epoch, token
      FROM moved
), freed AS (
    DELETE FROM schema.ax_keys AS k USING moved m WHERE k.key = m.overlap_key AND k.holder = m.id
)
SELECT c.now, coalesce(m.version, 0) FROM clock c LEFT JOIN moved m ON true`
