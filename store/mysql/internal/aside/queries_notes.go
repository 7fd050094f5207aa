package aside

import "github.com/ax-sched/ax/store/mysql/internal/wire"

// What executions say. Of a task that does not exist nothing is written: its row is locked shared,
// so that it is not deleted meanwhile.
const (
	lastExecutions wire.Verb = `
SELECT id, execution_id FROM ax_tasks FORCE INDEX (PRIMARY) WHERE id IN ({?})
 ORDER BY id LOCK IN SHARE MODE`
	lockProgress wire.Verb = `
SELECT task_id, execution_id, said_at FROM ax_progress FORCE INDEX (PRIMARY) WHERE task_id IN ({?})
 ORDER BY task_id FOR UPDATE`
	insertProgress wire.Verb = `
INSERT INTO ax_progress (task_id, execution_id, said_at, done, total, output)
VALUES (?, ?, ?, ?, ?, ?)`
	// moveProgress keeps the output that is there; replaceProgress does not.
	moveProgress wire.Verb = `
UPDATE ax_progress SET said_at = ?, done = ?, total = ? WHERE task_id = ?`
	replaceProgress wire.Verb = `
UPDATE ax_progress SET execution_id = ?, said_at = ?, done = ?, total = ?, output = ?
 WHERE task_id = ?`

	insertLines wire.Verb = `
INSERT INTO ax_logs (task_id, execution_id, seq, said_at, level, line)
VALUES {(?, ?, ?, ?, ?, ?)}
ON DUPLICATE KEY UPDATE seq = seq`
	// oldExecution is the newest execution of a task whose lines are no longer kept; dropLines
	// deletes them, and those before.
	oldExecution wire.Verb = `
SELECT execution_id FROM ax_logs WHERE task_id = ?
 GROUP BY execution_id ORDER BY execution_id DESC LIMIT 1 OFFSET ?`
	dropLines wire.Verb = `
DELETE d FROM ax_logs d FORCE INDEX (PRIMARY) WHERE d.task_id = ? AND d.execution_id <= ?`

	readNotes wire.Verb = `
SELECT task_id, execution_id, said_at, done, total, output FROM ax_progress
 WHERE task_id IN ({?}) ORDER BY task_id`
)

// The lines of a task behind a mark: of all executions, and of one.
const (
	readLog wire.Verb = `
SELECT execution_id, seq, said_at, level, line FROM ax_logs
 WHERE task_id = ? AND execution_id >= ? AND (execution_id > ? OR seq > ?)
 ORDER BY execution_id, seq LIMIT ?`
	readLogNewest wire.Verb = `
SELECT execution_id, seq, said_at, level, line FROM ax_logs
 WHERE task_id = ? AND execution_id >= ? AND (execution_id > ? OR seq > ?)
 ORDER BY execution_id DESC, seq DESC LIMIT ?`
	readRunLog wire.Verb = `
SELECT execution_id, seq, said_at, level, line FROM ax_logs
 WHERE task_id = ? AND execution_id >= ? AND (execution_id > ? OR seq > ?) AND execution_id = ?
 ORDER BY seq LIMIT ?`
	readRunLogNewest wire.Verb = `
SELECT execution_id, seq, said_at, level, line FROM ax_logs
 WHERE task_id = ? AND execution_id >= ? AND (execution_id > ? OR seq > ?) AND execution_id = ?
 ORDER BY seq DESC LIMIT ?`
)
