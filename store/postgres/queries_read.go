package postgres

import "github.com/ax-sched/ax/store/postgres/internal/wire"

// readTasks reads whole rows by id.
const readTasks verb = `
SELECT t.payload, t.result, ` + wire.TaskColumns + `
  FROM schema.ax_tasks AS t WHERE t.id = ANY ($1::uuid[])`

// readByKey reads the live task of a (kind, key).
const readByKey verb = `
SELECT t.payload, t.result, ` + wire.TaskColumns + `
  FROM schema.ax_tasks AS t WHERE t.kind = $1::text AND t.key = $2::text AND t.ukey`

// listTasks walks from the newest on by the primary key. $2..$4 are NULL or ” for any.
const listTasks verb = `
SELECT * FROM (
SELECT NULL::bytea, NULL::bytea, ` + wire.TaskColumns + `
  FROM schema.ax_tasks AS t
 WHERE t.id < $1::uuid
   AND ($2::smallint[] = '{}' OR t.state = ANY ($2::smallint[]))
   AND ($3::text = '' OR t.kind = $3::text)
   AND ($4::text = '' OR t.key = $4::text)
 ORDER BY t.id DESC LIMIT 1000) AS page LIMIT $5::bigint`

// listRest is listTasks for one state in which few tasks rest, which has an index.
const listRest verb = `
SELECT * FROM (
SELECT NULL::bytea, NULL::bytea, ` + wire.TaskColumns + `
  FROM schema.ax_tasks AS t
 WHERE t.id < $1::uuid
   AND t.state = ($2::smallint[])[1] AND t.state IN (1, 8, 9, 10, 11)
   AND ($3::text = '' OR t.kind = $3::text)
   AND ($4::text = '' OR t.key = $4::text)
 ORDER BY t.id DESC LIMIT 1000) AS page LIMIT $5::bigint`

// listJob is listTasks for the tasks of one job, which has an index.
const listJob verb = `
SELECT * FROM (
SELECT NULL::bytea, NULL::bytea, ` + wire.TaskColumns + `
  FROM schema.ax_tasks AS t
 WHERE t.id < $1::uuid AND t.job = $6::text
   AND ($2::smallint[] = '{}' OR t.state = ANY ($2::smallint[]))
   AND ($3::text = '' OR t.kind = $3::text)
   AND ($4::text = '' OR t.key = $4::text)
 ORDER BY t.id DESC LIMIT 1000) AS page LIMIT $5::bigint`

// readHistory reads a task's entries.
const readHistory verb = `
SELECT version, at, from_state, to_state, event, actor, reason, execution_id, attempt, executor,
       epoch, token, detail
  FROM schema.ax_history WHERE task_id = $1::uuid ORDER BY version`

// countTasks counts up to $1 tasks of each state, NULL is all. All but SUCCEEDED have an index, and
// the orders keep the planner to it.
const countTasks verb = `
SELECT 1, count(*) FROM (
    SELECT FROM schema.ax_tasks WHERE state = 1 AND state IN (1, 8, 9, 10, 11)
     ORDER BY id LIMIT $1::bigint) t
UNION ALL SELECT 2, count(*) FROM (
    SELECT FROM schema.ax_tasks WHERE state = 2
     ORDER BY grp, bucket, run_at, id LIMIT $1::bigint) t
UNION ALL SELECT 3, count(*) FROM (
    SELECT FROM schema.ax_tasks WHERE state = 3 AND state IN (3, 4)
     ORDER BY id LIMIT $1::bigint) t
UNION ALL SELECT 4, count(*) FROM (
    SELECT FROM schema.ax_tasks WHERE state = 4 AND state IN (3, 4)
     ORDER BY id LIMIT $1::bigint) t
UNION ALL SELECT 5, count(*) FROM (
    SELECT FROM schema.ax_tasks WHERE state = 5 LIMIT $1::bigint) t
UNION ALL SELECT 8, count(*) FROM (
    SELECT FROM schema.ax_tasks WHERE state = 8 AND state IN (1, 8, 9, 10, 11)
     ORDER BY id LIMIT $1::bigint) t
UNION ALL SELECT 9, count(*) FROM (
    SELECT FROM schema.ax_tasks WHERE state = 9 AND state IN (1, 8, 9, 10, 11)
     ORDER BY id LIMIT $1::bigint) t
UNION ALL SELECT 10, count(*) FROM (
    SELECT FROM schema.ax_tasks WHERE state = 10 AND state IN (1, 8, 9, 10, 11)
     ORDER BY id LIMIT $1::bigint) t
UNION ALL SELECT 11, count(*) FROM (
    SELECT FROM schema.ax_tasks WHERE state = 11 AND state IN (1, 8, 9, 10, 11)
     ORDER BY id LIMIT $1::bigint) t`

// scanDue answers each cursor ($1 is 1..n) with its page, from the index alone. The bound by
// run_at repeats the row comparison for the planner.
const scanDue verb = `
SELECT n, t.run_at, t.id, t.kind
  FROM unnest($1::integer[]) AS n
 CROSS JOIN LATERAL (
    SELECT run_at, id, kind FROM schema.ax_tasks
     WHERE state = 2
       AND grp = coalesce(($2::text[])[n], '') AND bucket = ($3::smallint[])[n]
       AND (run_at, id) > (coalesce(($4::bigint[])[n], 0),
            coalesce(($5::uuid[])[n], '00000000-0000-0000-0000-000000000000'))
       AND run_at <= coalesce(($6::bigint[])[n], 0)
     ORDER BY run_at, id LIMIT ($7::bigint[])[n]
  ) t
UNION ALL
SELECT 0, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, NULL, NULL`

// liveTasks reads the executions of all epochs by id.
const liveTasks verb = `
SELECT NULL::bytea, NULL::bytea, ` + wire.TaskColumns + `
  FROM schema.ax_tasks AS t
 WHERE t.state IN (3, 4) AND t.id > $1::uuid
   AND (NOT $2::boolean OR t.cancel_asked IS NOT NULL)
 ORDER BY t.id LIMIT $3::bigint`

// liveOfEpoch reads the executions of one epoch by id.
const liveOfEpoch verb = `
SELECT NULL::bytea, NULL::bytea, ` + wire.TaskColumns + `
  FROM schema.ax_tasks AS t
 WHERE t.state IN (3, 4) AND t.epoch = $4::bigint AND t.id > $1::uuid
   AND (NOT $2::boolean OR t.cancel_asked IS NOT NULL)
 ORDER BY t.id LIMIT $3::bigint`

// expiredTasks reads what waits past its end, unless a person has triggered it since.
const expiredTasks verb = `
SELECT NULL::bytea, NULL::bytea, ` + wire.TaskColumns + `
  FROM schema.ax_tasks AS t
 WHERE t.expires_at > 0 AND t.state IN (1, 2)
   AND t.expires_at < (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
   AND coalesce(t.triggered_at, 0) <= t.expires_at
 ORDER BY t.expires_at, t.id LIMIT $1::bigint`
