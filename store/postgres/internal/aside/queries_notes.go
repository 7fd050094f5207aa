package aside

// WriteNotes keeps of each task the progress and output of the execution that is its last one or,
// until that says something, has the largest id, and the lines of all; the first line of one ($15)
// deletes those of executions before the last $16. The key-share locks keep the tasks from being
// pruned meanwhile; no other writer of a task waits for them.
const WriteNotes = `
WITH said AS MATERIALIZED (
    SELECT n, t.id, ($3::uuid[])[n] AS execution, t.execution_id AS last
      FROM unnest($1::integer[]) AS n JOIN schema.ax_tasks AS t ON t.id = ($2::uuid[])[n]
     ORDER BY t.id
       FOR KEY SHARE OF t
), latest AS MATERIALIZED (
    SELECT DISTINCT ON (s.id) s.n, s.id, s.execution, s.last
      FROM said AS s WHERE ($4::boolean[])[s.n]
     ORDER BY s.id, (s.execution = s.last) IS TRUE DESC, s.execution DESC
), kept AS (
    INSERT INTO schema.ax_progress AS p (task_id, execution_id, at, done, total, output)
    SELECT l.id, l.execution, coalesce(($5::bigint[])[n], 0), coalesce(($6::bigint[])[n], 0),
           coalesce(($7::bigint[])[n], 0), ($9::bytea[])[n]
      FROM latest AS l
     ORDER BY l.id
    ON CONFLICT (task_id) DO UPDATE
       SET execution_id = EXCLUDED.execution_id, at = EXCLUDED.at, done = EXCLUDED.done,
           total = EXCLUDED.total,
           output = CASE WHEN p.execution_id <> EXCLUDED.execution_id
                           OR (SELECT ($8::boolean[])[l.n] FROM latest AS l
                                WHERE l.id = EXCLUDED.task_id)
                         THEN EXCLUDED.output ELSE p.output END
     WHERE CASE WHEN p.execution_id = EXCLUDED.execution_id THEN p.at <= EXCLUDED.at
                ELSE (SELECT CASE WHEN l.execution = l.last THEN true
                                  WHEN p.execution_id = l.last THEN false
                                  ELSE p.execution_id < l.execution END
                        FROM latest AS l WHERE l.id = EXCLUDED.task_id) END
), trimmed AS (
    DELETE FROM schema.ax_logs AS l USING said AS s
     WHERE ($15::boolean[])[s.n] AND l.task_id = s.id AND l.execution_id <= (
           SELECT e.execution_id FROM schema.ax_logs AS e
            WHERE e.task_id = s.id AND e.execution_id <> s.execution
            GROUP BY e.execution_id ORDER BY e.execution_id DESC OFFSET $16::integer - 1 LIMIT 1)
)
INSERT INTO schema.ax_logs (task_id, execution_id, seq, at, level, text)
SELECT s.id, s.execution, coalesce(l.seq, 0), coalesce(l.at, 0), coalesce(l.level, 0),
       coalesce(l.text, '')
  FROM unnest($10::integer[], $11::bigint[], $12::bigint[], $13::integer[], $14::text[])
       AS l(n, seq, at, level, text)
  JOIN said AS s ON s.n = l.n
 ORDER BY 1, 2, 3
ON CONFLICT DO NOTHING`

// ReadNotes reads what is kept of tasks.
const ReadNotes = `
SELECT p.task_id, p.execution_id, p.at, p.done, p.total, p.output
  FROM schema.ax_progress AS p WHERE p.task_id = ANY ($1::uuid[])`

// The lines of task $1 behind ($2, $3): of all executions, and of one.
const (
	ReadLog = `
SELECT l.execution_id, l.seq, l.at, l.level, l.text
  FROM schema.ax_logs AS l
 WHERE l.task_id = $1::uuid AND (l.execution_id, l.seq) > ($2::uuid, $3::bigint)
 ORDER BY l.execution_id, l.seq LIMIT $4::bigint`
	ReadLogNewest = `
SELECT l.execution_id, l.seq, l.at, l.level, l.text
  FROM schema.ax_logs AS l
 WHERE l.task_id = $1::uuid AND (l.execution_id, l.seq) > ($2::uuid, $3::bigint)
 ORDER BY l.execution_id DESC, l.seq DESC LIMIT $4::bigint`
	ReadRunLog = `
SELECT l.execution_id, l.seq, l.at, l.level, l.text
  FROM schema.ax_logs AS l
 WHERE l.task_id = $1::uuid AND l.execution_id = $5::uuid
   AND (l.execution_id, l.seq) > ($2::uuid, $3::bigint)
 ORDER BY l.seq LIMIT $4::bigint`
	ReadRunLogNewest = `
SELECT l.execution_id, l.seq, l.at, l.level, l.text
  FROM schema.ax_logs AS l
 WHERE l.task_id = $1::uuid AND l.execution_id = $5::uuid
   AND (l.execution_id, l.seq) > ($2::uuid, $3::bigint)
 ORDER BY l.seq DESC LIMIT $4::bigint`
)
