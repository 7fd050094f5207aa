package sqlite

// noteProgress keeps the progress of an execution of task ?6, whose last execution is ?8, unless
// that has said something, or a later one has. Without ?7 the output of the same execution stays.
const noteProgress = `
INSERT INTO ax_progress (n, execution_id, at, done, total, output)
VALUES (?6, ?1, ?2, ?3, ?4, CASE WHEN ?7 THEN ?5 END)
ON CONFLICT (n) DO UPDATE SET execution_id = excluded.execution_id, at = excluded.at,
  done = excluded.done, total = excluded.total,
  output = CASE WHEN ?7 OR ax_progress.execution_id <> excluded.execution_id THEN excluded.output
    ELSE ax_progress.output END
WHERE CASE WHEN ax_progress.execution_id = excluded.execution_id THEN ax_progress.at <= excluded.at
  WHEN excluded.execution_id = ?8 THEN 1
  WHEN ax_progress.execution_id = ?8 THEN 0
  ELSE ax_progress.execution_id < excluded.execution_id END`

const noteLine = `
INSERT INTO ax_logs (n, execution_id, seq, at, level, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (n, execution_id, seq) DO NOTHING`

// trimLog deletes the lines of executions before the last ?2.
const trimLog = `
DELETE FROM ax_logs WHERE n = ?1 AND execution_id <= (
  SELECT execution_id FROM ax_logs WHERE n = ?1
  GROUP BY execution_id ORDER BY execution_id DESC LIMIT 1 OFFSET ?2)`

const selectNotes = `
SELECT p.execution_id, p.at, p.done, p.total, p.output
FROM ax_tasks t JOIN ax_progress p ON p.n = t.n WHERE t.id = ?1`

// The lines of task ?1 behind (?2, ?3): of all executions, and of one.
const (
	selectLog = `
SELECT l.execution_id, l.seq, l.at, l.level, l.text
FROM ax_tasks t JOIN ax_logs l ON l.n = t.n
WHERE t.id = ?1 AND (l.execution_id, l.seq) > (?2, ?3)
ORDER BY l.execution_id, l.seq LIMIT ?4`
	selectLogNewest = `
SELECT l.execution_id, l.seq, l.at, l.level, l.text
FROM ax_tasks t JOIN ax_logs l ON l.n = t.n
WHERE t.id = ?1 AND (l.execution_id, l.seq) > (?2, ?3)
ORDER BY l.execution_id DESC, l.seq DESC LIMIT ?4`
	selectRunLog = `
SELECT l.execution_id, l.seq, l.at, l.level, l.text
FROM ax_tasks t JOIN ax_logs l ON l.n = t.n
WHERE t.id = ?1 AND l.execution_id = ?5 AND (l.execution_id, l.seq) > (?2, ?3)
ORDER BY l.seq LIMIT ?4`
	selectRunLogNewest = `
SELECT l.execution_id, l.seq, l.at, l.level, l.text
FROM ax_tasks t JOIN ax_logs l ON l.n = t.n
WHERE t.id = ?1 AND l.execution_id = ?5 AND (l.execution_id, l.seq) > (?2, ?3)
ORDER BY l.seq DESC LIMIT ?4`
)

// pruneProgress and pruneLog delete what the executions of a task have said.
const (
	pruneProgress = `DELETE FROM ax_progress WHERE n = ?1`
	pruneLog      = `DELETE FROM ax_logs WHERE n = ?1`
)
