package mysql

// The statements that write tasks, each for many rows.
const (
	insertTasks verb = `
INSERT INTO ax_tasks (id, grp, bucket, kind, rest, version, updated_at, expires_at, waits_until,
  state, run_at,
  last_outcome, reason, run, attempt, failures, dispatches, recoveries, executor, epoch,
  execution_id, token, dispatched_at, started_at, finished_at, last_retry_at, triggered_at,
  cancel_asked, stop_asked, error, result)
VALUES {(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
  ?, ?)}`

	insertSpecs verb = `
INSERT INTO ax_specs (id, ukey, job_id, job, fire_time, fire_from, fire_count, fire_of, overlap,
  overlap_key,
  max_retries, timeout, retry_policy, owner_service, labels, created_at, on_unknown,
  max_lateness, max_lifetime, payload)
VALUES {(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)}`

	insertHistory verb = `
INSERT INTO ax_history (task_id, version, said_at, from_state, to_state, event, reason, attempt,
  epoch, token,
  executor, execution_id, actor, detail)
VALUES {(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)}`

	// moveTasks replaces the whole changing part of rows, each on the condition of its id, version
	// and state, of its execution where one is given, and of its time where that is asked. The first
	// part of the union gives the columns names and types: those of literals are too short for what
	// comes after them, and MariaDB cuts it off without a word.
	moveTasks verb = `
UPDATE (
  SELECT id, created_at AS version, created_at AS from_state, job_id AS was, created_at AS due,
    created_at AS moves, created_at AS now, created_at AS state, created_at AS run_at,
    created_at AS last_outcome, created_at AS reason, created_at AS run, created_at AS attempt,
    created_at AS failures, created_at AS dispatches, created_at AS recoveries,
    owner_service AS executor, created_at AS epoch, job_id AS execution_id, created_at AS token,
    created_at AS dispatched_at, created_at AS started_at, created_at AS finished_at,
    created_at AS last_retry_at, created_at AS triggered_at, created_at AS cancel_asked,
    created_at AS stop_asked, labels AS error, payload AS result
    FROM ax_specs WHERE 1 = 0
  UNION ALL {SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
  ?, ?, ?, ?| UNION ALL }
) n STRAIGHT_JOIN ax_tasks t ON t.id = n.id
   SET t.version = t.version + n.moves, t.updated_at = n.now,
  t.rest = CASE WHEN n.state = 1 OR n.state > 5 THEN n.state END,
  t.waits_until = CASE WHEN n.state <= 2 AND t.expires_at > 0 THEN t.expires_at END,
  t.state = n.state, t.run_at = n.run_at, t.last_outcome = n.last_outcome,
  t.reason = n.reason, t.run = n.run, t.attempt = n.attempt, t.failures = n.failures,
  t.dispatches = n.dispatches, t.recoveries = n.recoveries, t.executor = n.executor,
  t.epoch = n.epoch, t.execution_id = n.execution_id, t.token = n.token,
  t.dispatched_at = n.dispatched_at, t.started_at = n.started_at,
  t.finished_at = n.finished_at, t.last_retry_at = n.last_retry_at,
  t.triggered_at = n.triggered_at, t.cancel_asked = n.cancel_asked,
  t.stop_asked = n.stop_asked, t.error = n.error, t.result = n.result
 WHERE t.version = n.version AND t.state = n.from_state
   AND (n.was IS NULL OR t.execution_id = n.was) AND (n.due = 0 OR t.run_at <= n.now)`

	// lockTasks locks rows in the order of their ids; lockFree only those that nobody holds.
	lockTasks verb = `
SELECT id, version, state, execution_id, run_at, kind FROM ax_tasks
 FORCE INDEX (PRIMARY) WHERE id IN ({?})
 ORDER BY id FOR UPDATE`
	lockFree verb = `
SELECT id, version, state, execution_id, run_at, kind FROM ax_tasks
 FORCE INDEX (PRIMARY) WHERE id IN ({?})
 ORDER BY id FOR UPDATE SKIP LOCKED`
	findTasks verb = `
SELECT id, version, state, execution_id, run_at, kind FROM ax_tasks
 FORCE INDEX (PRIMARY) WHERE id IN ({?})`
	keysOf verb = `SELECT id, ukey FROM ax_specs WHERE id IN ({?}) AND ukey <> ''`
)

// Overlap keys.
const (
	lockKeys verb = `
SELECT okey, holder FROM ax_keys FORCE INDEX (PRIMARY) WHERE okey IN ({?}) FOR UPDATE`
	takeKeys verb = `INSERT INTO ax_keys (okey, holder) VALUES {(?, ?)}`
	freeKeys verb = `
DELETE d FROM (SELECT okey, holder FROM ax_keys WHERE 1 = 0 UNION ALL {SELECT ?, ?| UNION ALL }) n
  STRAIGHT_JOIN ax_keys d FORCE INDEX (PRIMARY) ON d.okey = n.okey
 WHERE d.holder = n.holder`
)

// Unique keys: the live task of a (kind, key), and those that are kept beyond their task. The reads
// for an answer have the task beside the key; it may have been deleted where the key is kept.
const (
	takeUnique verb = `INSERT INTO ax_unique (kind, ukey, id) VALUES {(?, ?, ?)}`
	freeUnique verb = `
DELETE d FROM (SELECT id FROM ax_specs WHERE 1 = 0 UNION ALL {SELECT ?| UNION ALL }) n
  STRAIGHT_JOIN ax_unique d FORCE INDEX (ax_unique_id) ON d.id = n.id`
	lockUnique verb = `
SELECT kind, ukey, id FROM ax_unique FORCE INDEX (PRIMARY)
 WHERE {kind = ? AND ukey = ?| OR } FOR UPDATE`
	findUnique verb = `
SELECT u.kind, u.ukey, t.id, t.state, t.version, t.run_at
  FROM ax_unique u JOIN ax_tasks t ON t.id = u.id
 WHERE {u.kind = ? AND u.ukey = ?| OR }`
	keepKeys verb = `INSERT INTO ax_kept_keys (kind, ukey, id, kept_until) VALUES {(?, ?, ?, ?)}`
	findKept verb = `
SELECT k.kind, k.ukey, k.id, k.kept_until, t.state, t.version, t.run_at
  FROM ax_kept_keys k LEFT JOIN ax_tasks t ON t.id = k.id
 WHERE {k.kind = ? AND k.ukey = ?| OR }`
	// Which keys there are, and which of them nobody holds: see openKeys.
	seeUnique verb = `
SELECT kind, ukey FROM ax_unique FORCE INDEX (PRIMARY) WHERE {kind = ? AND ukey = ?| OR }`
	lockFreeUnique verb = `
SELECT kind, ukey FROM ax_unique FORCE INDEX (PRIMARY) WHERE {kind = ? AND ukey = ?| OR }
   FOR UPDATE SKIP LOCKED`
	seeKept verb = `
SELECT kind, ukey FROM ax_kept_keys FORCE INDEX (PRIMARY) WHERE {kind = ? AND ukey = ?| OR }`
	lockFreeKept verb = `
SELECT kind, ukey FROM ax_kept_keys FORCE INDEX (PRIMARY) WHERE {kind = ? AND ukey = ?| OR }
   FOR UPDATE SKIP LOCKED`
	// keepAgain keeps a key for another task, if its end has passed still.
	keepAgain verb = `
UPDATE ax_kept_keys SET id = ?, kept_until = ? WHERE kind = ? AND ukey = ? AND kept_until <= ?`
	existing verb = `SELECT id, state, version, run_at FROM ax_tasks WHERE id IN ({?})`
)

// The statements of TxWriter beyond those above.
const (
	savepoint  verb = `SAVEPOINT ax`
	release    verb = `RELEASE SAVEPOINT ax`
	rollbackTo verb = `ROLLBACK TO SAVEPOINT ax`

	lockRunning verb = `
SELECT t.version, t.attempt, t.executor, t.epoch, t.token, s.overlap_key, s.ukey
  FROM ax_tasks t JOIN ax_specs s ON s.id = t.id
 WHERE t.id = ? AND t.state = 4 AND t.execution_id = ? FOR UPDATE`
	complete verb = `
UPDATE ax_tasks SET version = version + 1, updated_at = ?, finished_at = ?, state = 5,
  rest = NULL, waits_until = NULL, last_outcome = 1, reason = 0, error = '', result = NULL
 WHERE id = ? AND version = ? AND state = 4 AND execution_id = ?`
)

// Jobs. The columns are always in the order of row.Job.
const (
	insertJob verb = `
INSERT INTO ax_jobs (id, name, live_name, version, cron, zone, every_ns, after_ns, once_at,
  kind, grp, payload,
  bucket, overlap, misfire, max_retries, timeout, retry_policy, owner_service, labels, anchor,
  last_fire, last_task, created_at, updated_at, deleted_at, overlap_key, misfire_grace,
  misfire_cap, jitter, starts_at, ends_at, max_fires, fires, paused_at, paused_until,
  paused_by, pause_reason, skip_until, skip_by, skip_reason, on_unknown, max_lateness,
  max_lifetime)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
  ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	replaceJob verb = `
UPDATE ax_jobs SET name = ?, live_name = ?, version = ?, cron = ?, zone = ?, every_ns = ?,
  after_ns = ?,
  once_at = ?, kind = ?, grp = ?, payload = ?, bucket = ?, overlap = ?, misfire = ?,
  max_retries = ?, timeout = ?, retry_policy = ?, owner_service = ?, labels = ?, anchor = ?,
  last_fire = ?, last_task = ?, created_at = ?, updated_at = ?, deleted_at = ?,
  overlap_key = ?, misfire_grace = ?, misfire_cap = ?, jitter = ?, starts_at = ?, ends_at = ?,
  max_fires = ?, fires = ?, paused_at = ?, paused_until = ?, paused_by = ?, pause_reason = ?,
  skip_until = ?, skip_by = ?, skip_reason = ?, on_unknown = ?, max_lateness = ?,
  max_lifetime = ?
 WHERE id = ?`
	jobByName verb = `
SELECT id, name, version, cron, zone, every_ns, after_ns, once_at, kind, grp, payload, bucket,
  overlap, misfire, max_retries, timeout, retry_policy, owner_service, labels, anchor,
  last_fire, last_task, created_at, updated_at, deleted_at, overlap_key, misfire_grace,
  misfire_cap, jitter, starts_at, ends_at, max_fires, fires, paused_at, paused_until,
  paused_by, pause_reason, skip_until, skip_by, skip_reason, on_unknown, max_lateness,
  max_lifetime
  FROM ax_jobs WHERE live_name = ? FOR UPDATE`
	jobsSince verb = `
SELECT id, name, version, cron, zone, every_ns, after_ns, once_at, kind, grp, payload, bucket,
  overlap, misfire, max_retries, timeout, retry_policy, owner_service, labels, anchor,
  last_fire, last_task, created_at, updated_at, deleted_at, overlap_key, misfire_grace,
  misfire_cap, jitter, starts_at, ends_at, max_fires, fires, paused_at, paused_until,
  paused_by, pause_reason, skip_until, skip_by, skip_reason, on_unknown, max_lateness,
  max_lifetime
  FROM ax_jobs WHERE updated_at >= ? ORDER BY id`
	jobExists verb = `SELECT 1 FROM ax_jobs WHERE id = ?`
	deleteJob verb = `
UPDATE ax_jobs SET version = version + 1, updated_at = ?, deleted_at = ?, live_name = NULL
 WHERE live_name = ?`
	steerJob verb = `
UPDATE ax_jobs SET version = version + 1, updated_at = ?, paused_at = ?, paused_until = ?,
  paused_by = ?, pause_reason = ?, skip_until = ?, skip_by = ?, skip_reason = ?
 WHERE id = ? AND version = ? AND deleted_at = 0`
	// lockCursors reads what decides about fires; moveCursor records what they did.
	lockCursors verb = `
SELECT id, version, last_fire FROM ax_jobs FORCE INDEX (PRIMARY)
 WHERE id IN ({?}) AND deleted_at = 0
 ORDER BY id FOR UPDATE`
	moveCursor verb = `
UPDATE ax_jobs SET last_fire = ?, last_task = ?, fires = fires + ? WHERE id = ?`
)
