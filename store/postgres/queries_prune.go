package postgres

// pageTasks walks tasks by id for the retention: after $1, up to $2. One row more, of state 0, has
// the installed token of partition $4 and the time.
const pageTasks verb = `
SELECT * FROM (SELECT * FROM (
SELECT t.id, t.state, t.version, t.updated_at, t.kind, t.job
  FROM schema.ax_tasks AS t
 WHERE t.id > $1::uuid AND t.id <= $2::uuid
 ORDER BY t.id LIMIT 1000) AS page LIMIT $3::bigint) AS tasks
UNION ALL
SELECT NULL, 0::smallint,
       coalesce((SELECT token FROM schema.ax_partitions WHERE partition = $4::integer), 0),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, NULL, NULL`

// pruneTasks deletes final tasks that still have the version they were read with, their history and
// what their executions have said. What a foreign transaction holds is left for the next walk. The
// order of locks is that of applyMoves: the fence, then the rows by id.
const pruneTasks verb = `
WITH fence AS MATERIALIZED (
    SELECT token FROM schema.ax_partitions WHERE partition = $1::integer FOR SHARE
), ended AS MATERIALIZED (
    SELECT t.id FROM unnest($4::integer[]) AS n
      JOIN schema.ax_tasks AS t ON t.id = ($5::uuid[])[n] AND t.version = ($6::bigint[])[n]
     WHERE (NOT $3::boolean OR coalesce((SELECT token FROM fence), 0) = $2::bigint)
       AND t.state IN (5, 8, 9, 10)
       FOR UPDATE OF t SKIP LOCKED
), gone AS (
    DELETE FROM schema.ax_tasks AS t USING ended WHERE t.id = ended.id RETURNING t.id
), said AS (
    DELETE FROM schema.ax_history AS h USING gone WHERE h.task_id = gone.id
), progress AS (
    DELETE FROM schema.ax_progress AS p USING gone WHERE p.task_id = gone.id
), logs AS (
    DELETE FROM schema.ax_logs AS l USING gone WHERE l.task_id = gone.id
)
SELECT CASE WHEN $3::boolean THEN coalesce((SELECT token FROM fence), 0) ELSE 0 END,
       count(*)::integer
  FROM gone`
