package sqlite

// The statements. The columns of ax_tasks and ax_specs are always named in the order of row.go.

const (
	beginWrite = `BEGIN IMMEDIATE`
	beginRead  = `BEGIN`
	commit     = `COMMIT`
	rollback   = `ROLLBACK`
)

// lastTask and lastHistory give the numbers after which a transaction goes on.
const (
	lastTask    = `SELECT coalesce(max(n), 0) FROM ax_tasks`
	lastHistory = `SELECT coalesce(max(h), 0) FROM ax_history`
)

// insertTask adds the changing part of a task, or nothing if the id exists. Rows are appended, so
// their pages are full; the room that the first move gives up keeps a claim, which adds an
// execution and its times, from splitting each of them.
const insertTask = `
INSERT INTO ax_tasks (state, version, hist, run_at, updated_at, last_outcome, reason, run, attempt,
  failures, dispatches, recoveries, executor, epoch, execution_id, token, dispatched_at, started_at,
  finished_at, last_retry_at, triggered_at, cancel_asked, stop_asked, error, result,
  n, id, grp, bucket, kind, expires_at, room)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
  ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, zeroblob(64))
ON CONFLICT (id) DO NOTHING`

// dropTask takes back the row of an insert that turns out to be a duplicate.
const dropTask = `DELETE FROM ax_tasks WHERE n = ?1`

const insertSpec = `
INSERT INTO ax_specs (n, key, job_id, job, fire_time, fire_from, fire_count, overlap, overlap_key,
  max_retries, timeout, retry_policy, owner_service, labels, created_at, payload, on_unknown,
  max_lateness, max_lifetime)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)`

const insertHistory = `
INSERT INTO ax_history (h, prev, n, version, at, from_state, to_state, event, reason, attempt,
  epoch, token, executor, execution_id, actor, detail)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)`

// takeUnique takes a (kind, key) if no live task has it; freeUnique gives it back.
const (
	takeUnique = `INSERT INTO ax_unique (kind, key, n) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`
	freeUnique = `
DELETE FROM ax_unique WHERE n = ?1 AND kind = (SELECT kind FROM ax_tasks WHERE n = ?1)
  AND key = (SELECT key FROM ax_specs WHERE n = ?1)`
	findUnique = `
SELECT t.id, t.state, t.version, t.run_at
FROM ax_unique u JOIN ax_tasks t ON t.n = u.n
WHERE u.kind = ?1 AND u.key = ?2`
	keyOf = `SELECT t.kind, s.key FROM ax_tasks t JOIN ax_specs s ON s.n = t.n WHERE t.n = ?1`
)

// keepKey keeps a (kind, key) for task ?3 until ?4, in the place of one whose end has passed by ?5;
// keeper finds for which task it is kept, and that task if it still exists; dropUnique takes back
// what takeUnique took for the same row; keptOver asks whether the end of one has passed, pruneKept
// removes some of those.
const (
	keepKey = `
INSERT INTO ax_kept_keys (kind, key, id, until) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (kind, key) DO UPDATE SET id = excluded.id, until = excluded.until
WHERE ax_kept_keys.until <= ?5`
	keeper = `
SELECT k.id, coalesce(t.state, 0), coalesce(t.version, 0), coalesce(t.run_at, 0)
FROM ax_kept_keys k LEFT JOIN ax_tasks t ON t.id = k.id
WHERE k.kind = ?1 AND k.key = ?2`
	dropUnique = `DELETE FROM ax_unique WHERE kind = ?1 AND key = ?2`
	keptOver   = `SELECT 1 FROM ax_kept_keys WHERE until > 0 AND until <= ?1 LIMIT 1`
	pruneKept  = `
DELETE FROM ax_kept_keys WHERE (kind, key) IN (
  SELECT kind, key FROM ax_kept_keys INDEXED BY ax_kept_keys_until
  WHERE until > 0 AND until <= ?1 ORDER BY until LIMIT ?2)`
)

// takeKey takes an overlap key if it is free or the task's own already; freeKey gives it back.
const (
	takeKey = `INSERT INTO ax_keys (key, holder) VALUES (?1, ?2) ON CONFLICT DO NOTHING`
	holder  = `SELECT holder FROM ax_keys WHERE key = ?1`
	freeKey = `DELETE FROM ax_keys WHERE key = ?1 AND holder = ?2`
)

// findTask reads what the condition of a transition is about.
const findTask = `
SELECT n, state, version, hist, run_at, execution_id FROM ax_tasks WHERE id = ?1`

// moveTask replaces the whole changing part, on the condition of id, version and state.
const moveTask = `
UPDATE ax_tasks SET state = ?1, version = ?2, hist = ?3, run_at = ?4, updated_at = ?5,
  last_outcome = ?6, reason = ?7, run = ?8, attempt = ?9, failures = ?10, dispatches = ?11,
  recoveries = ?12, executor = ?13, epoch = ?14, execution_id = ?15, token = ?16,
  dispatched_at = ?17, started_at = ?18, finished_at = ?19, last_retry_at = ?20,
  triggered_at = ?21, cancel_asked = ?22, stop_asked = ?23, error = ?24, result = ?25, room = NULL
WHERE n = ?26 AND version = ?27 AND state = ?28 AND id = ?29`

// The readers of whole rows: with payload and result, and without.
const (
	selectTask = `
SELECT t.state, t.version, t.hist, t.run_at, t.updated_at, t.last_outcome, t.reason, t.run,
  t.attempt, t.failures, t.dispatches, t.recoveries, t.executor, t.epoch, t.execution_id, t.token,
  t.dispatched_at, t.started_at, t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked,
  t.stop_asked, t.error, t.result, t.n, t.id, t.grp, t.bucket, t.kind,
  s.key, s.job_id, s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key,
  s.max_retries, s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at, s.payload,
  t.expires_at, s.on_unknown, s.max_lateness, s.max_lifetime
FROM ax_tasks t JOIN ax_specs s ON s.n = t.n
WHERE t.id = ?1`

	selectByKey = `
SELECT t.state, t.version, t.hist, t.run_at, t.updated_at, t.last_outcome, t.reason, t.run,
  t.attempt, t.failures, t.dispatches, t.recoveries, t.executor, t.epoch, t.execution_id, t.token,
  t.dispatched_at, t.started_at, t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked,
  t.stop_asked, t.error, t.result, t.n, t.id, t.grp, t.bucket, t.kind,
  s.key, s.job_id, s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key,
  s.max_retries, s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at, s.payload,
  t.expires_at, s.on_unknown, s.max_lateness, s.max_lifetime
FROM ax_unique u JOIN ax_tasks t ON t.n = u.n JOIN ax_specs s ON s.n = u.n
WHERE u.kind = ?1 AND u.key = ?2`

	// selectLive: ?1 after this id, ?2 of this epoch or 0, ?3 only asked to cancel, ?4 limit.
	selectLive = `
SELECT t.state, t.version, t.hist, t.run_at, t.updated_at, t.last_outcome, t.reason, t.run,
  t.attempt, t.failures, t.dispatches, t.recoveries, t.executor, t.epoch, t.execution_id, t.token,
  t.dispatched_at, t.started_at, t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked,
  t.stop_asked, t.error, NULL, t.n, t.id, t.grp, t.bucket, t.kind,
  s.key, s.job_id, s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key,
  s.max_retries, s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at, NULL,
  t.expires_at, s.on_unknown, s.max_lateness, s.max_lifetime
FROM ax_tasks t INDEXED BY ax_tasks_live CROSS JOIN ax_specs s ON s.n = t.n
WHERE t.state >= 3 AND t.state <= 4 AND t.id > ?1 AND (?2 = 0 OR t.epoch = ?2)
  AND (?3 = 0 OR t.cancel_asked <> 0)
ORDER BY t.id LIMIT ?4`

	// selectExpired: ?1 now, ?2 limit.
	selectExpired = `
SELECT t.state, t.version, t.hist, t.run_at, t.updated_at, t.last_outcome, t.reason, t.run,
  t.attempt, t.failures, t.dispatches, t.recoveries, t.executor, t.epoch, t.execution_id, t.token,
  t.dispatched_at, t.started_at, t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked,
  t.stop_asked, t.error, NULL, t.n, t.id, t.grp, t.bucket, t.kind,
  s.key, s.job_id, s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key,
  s.max_retries, s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at, NULL,
  t.expires_at, s.on_unknown, s.max_lateness, s.max_lifetime
FROM ax_tasks t INDEXED BY ax_tasks_expires CROSS JOIN ax_specs s ON s.n = t.n
WHERE t.expires_at > 0 AND t.state <= 2 AND t.expires_at < ?1 AND t.triggered_at <= t.expires_at
ORDER BY t.expires_at, t.id LIMIT ?2`

	// selectList: ?1 before this id or NULL, ?2 states as bits, ?3 kind, ?4 key, ?5 job, ?6 limit.
	selectList = `
SELECT t.state, t.version, t.hist, t.run_at, t.updated_at, t.last_outcome, t.reason, t.run,
  t.attempt, t.failures, t.dispatches, t.recoveries, t.executor, t.epoch, t.execution_id, t.token,
  t.dispatched_at, t.started_at, t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked,
  t.stop_asked, t.error, NULL, t.n, t.id, t.grp, t.bucket, t.kind,
  s.key, s.job_id, s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key,
  s.max_retries, s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at, NULL,
  t.expires_at, s.on_unknown, s.max_lateness, s.max_lifetime
FROM ax_tasks t CROSS JOIN ax_specs s ON s.n = t.n
WHERE t.id < ?1 AND (1 << t.state) & ?2 AND (?3 = '' OR t.kind = ?3) AND (?4 = '' OR s.key = ?4)
  AND (?5 = '' OR s.job = ?5)
ORDER BY t.id DESC LIMIT ?6`

	// selectRest is selectList for the one state ?2 of DEAD, CANCELED, SKIPPED and HELD. With an
	// equation for the state SQLite would not see that the index fits.
	selectRest = `
SELECT t.state, t.version, t.hist, t.run_at, t.updated_at, t.last_outcome, t.reason, t.run,
  t.attempt, t.failures, t.dispatches, t.recoveries, t.executor, t.epoch, t.execution_id, t.token,
  t.dispatched_at, t.started_at, t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked,
  t.stop_asked, t.error, NULL, t.n, t.id, t.grp, t.bucket, t.kind,
  s.key, s.job_id, s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key,
  s.max_retries, s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at, NULL,
  t.expires_at, s.on_unknown, s.max_lateness, s.max_lifetime
FROM ax_tasks t INDEXED BY ax_tasks_rest CROSS JOIN ax_specs s ON s.n = t.n
WHERE (t.state, t.id) < (?2, ?1) AND t.state >= ?2 AND t.state > 5
  AND (?3 = '' OR t.kind = ?3) AND (?4 = '' OR s.key = ?4) AND (?5 = '' OR s.job = ?5)
ORDER BY t.state DESC, t.id DESC LIMIT ?6`
)

// selectDue is one page of one queue, answered from the index alone.
const selectDue = `
SELECT run_at, id, kind FROM ax_tasks
WHERE state = 2 AND grp = ?1 AND bucket = ?2 AND (run_at, id) > (?3, ?4) AND run_at <= ?5
ORDER BY run_at, id LIMIT ?6`

// selectHistory walks one task's chain, the latest entry first.
const (
	latestEntry   = `SELECT hist FROM ax_tasks WHERE id = ?1`
	selectHistory = `
SELECT prev, version, at, from_state, to_state, event, reason, attempt, epoch, token, executor,
  execution_id, actor, detail
FROM ax_history WHERE h = ?1`
)

// countTasks counts up to ?1 tasks of each state; -1 is all. All but SUCCEEDED have an index.
// Equal bounds instead of an equation: SQLite would put the constant into the other terms too, and
// not see that the index ax_tasks_rest fits.
const countTasks = `
SELECT 1, count(*) FROM (SELECT 1 FROM ax_tasks INDEXED BY ax_tasks_rest
  WHERE state >= 1 AND state <= 1 AND state < 2 LIMIT ?1)
UNION ALL SELECT 2, count(*) FROM (SELECT 1 FROM ax_tasks INDEXED BY ax_tasks_due
  WHERE state = 2 LIMIT ?1)
UNION ALL SELECT 3, count(*) FROM (SELECT 1 FROM ax_tasks INDEXED BY ax_tasks_live
  WHERE state >= 3 AND state <= 4 AND state < 4 LIMIT ?1)
UNION ALL SELECT 4, count(*) FROM (SELECT 1 FROM ax_tasks INDEXED BY ax_tasks_live
  WHERE state >= 3 AND state <= 4 AND state > 3 LIMIT ?1)
UNION ALL SELECT 5, count(*) FROM (SELECT 1 FROM ax_tasks WHERE state = 5 LIMIT ?1)
UNION ALL SELECT 8, count(*) FROM (SELECT 1 FROM ax_tasks INDEXED BY ax_tasks_rest
  WHERE state >= 8 AND state <= 8 AND state > 5 LIMIT ?1)
UNION ALL SELECT 9, count(*) FROM (SELECT 1 FROM ax_tasks INDEXED BY ax_tasks_rest
  WHERE state >= 9 AND state <= 9 AND state > 5 LIMIT ?1)
UNION ALL SELECT 10, count(*) FROM (SELECT 1 FROM ax_tasks INDEXED BY ax_tasks_rest
  WHERE state >= 10 AND state <= 10 AND state > 5 LIMIT ?1)
UNION ALL SELECT 11, count(*) FROM (SELECT 1 FROM ax_tasks INDEXED BY ax_tasks_rest
  WHERE state >= 11 AND state <= 11 AND state > 5 LIMIT ?1)`

// pageTasks walks tasks by id for the retention: ?1 after this id, ?2 up to this one, ?3 limit.
const pageTasks = `
SELECT t.n, t.id, t.state, t.version, t.updated_at, t.hist, t.kind, s.job
FROM ax_tasks t INDEXED BY ax_tasks_id CROSS JOIN ax_specs s ON s.n = t.n
WHERE t.id > ?1 AND t.id <= ?2
ORDER BY t.id LIMIT ?3`

// pruneTask deletes a task that is still as it was read, pruneSpec and pruneEntry what belongs to
// it. A final task has no row in ax_unique and ax_keys.
const (
	pruneTask  = `DELETE FROM ax_tasks WHERE n = ?1 AND id = ?2 AND version = ?3 AND state = ?4`
	pruneSpec  = `DELETE FROM ax_specs WHERE n = ?1`
	previous   = `SELECT prev FROM ax_history WHERE h = ?1`
	pruneEntry = `DELETE FROM ax_history WHERE h = ?1`
)

// selectToken reads the fence of a partition; installToken moves it on if it is still ?3.
const (
	selectToken  = `SELECT token FROM ax_partitions WHERE partition = ?1`
	installToken = `
INSERT INTO ax_partitions (partition, token, holder, installed_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (partition) DO UPDATE
SET token = excluded.token, holder = excluded.holder, installed_at = excluded.installed_at`
)

const (
	insertJob = `
INSERT INTO ax_jobs (id, name, version, cron, zone, every, after, at, kind, grp, payload, bucket,
  overlap, misfire, max_retries, timeout, retry_policy, owner_service, labels, anchor, last_fire,
  last_task, created_at, updated_at, deleted_at, overlap_key, misfire_grace, misfire_cap, jitter,
  starts_at, ends_at, max_fires, fires, paused_at, paused_until, paused_by, pause_reason,
  skip_until, skip_by, skip_reason, on_unknown, max_lateness, max_lifetime)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
  ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38,
  ?39, ?40, ?41, ?42, ?43)`
	replaceJob = `
INSERT OR REPLACE INTO ax_jobs (id, name, version, cron, zone, every, after, at, kind, grp,
  payload, bucket, overlap, misfire, max_retries, timeout, retry_policy, owner_service, labels,
  anchor, last_fire, last_task, created_at, updated_at, deleted_at, overlap_key, misfire_grace,
  misfire_cap, jitter, starts_at, ends_at, max_fires, fires, paused_at, paused_until, paused_by,
  pause_reason, skip_until, skip_by, skip_reason, on_unknown, max_lateness, max_lifetime)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
  ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38,
  ?39, ?40, ?41, ?42, ?43)`
	jobByName = `
SELECT id, name, version, cron, zone, every, after, at, kind, grp, payload, bucket,
  overlap, misfire, max_retries, timeout, retry_policy, owner_service, labels, anchor, last_fire,
  last_task, created_at, updated_at, deleted_at, overlap_key, misfire_grace, misfire_cap, jitter,
  starts_at, ends_at, max_fires, fires, paused_at, paused_until, paused_by, pause_reason,
  skip_until, skip_by, skip_reason, on_unknown, max_lateness, max_lifetime
FROM ax_jobs WHERE name = ?1 AND deleted_at = 0`
	jobsSince = `
SELECT id, name, version, cron, zone, every, after, at, kind, grp, payload, bucket,
  overlap, misfire, max_retries, timeout, retry_policy, owner_service, labels, anchor, last_fire,
  last_task, created_at, updated_at, deleted_at, overlap_key, misfire_grace, misfire_cap, jitter,
  starts_at, ends_at, max_fires, fires, paused_at, paused_until, paused_by, pause_reason,
  skip_until, skip_by, skip_reason, on_unknown, max_lateness, max_lifetime
FROM ax_jobs INDEXED BY ax_jobs_updated WHERE updated_at >= ?1 ORDER BY id`
	jobExists = `SELECT 1 FROM ax_jobs WHERE id = ?1`
	deleteJob = `
UPDATE ax_jobs SET version = version + 1, updated_at = ?2, deleted_at = ?2
WHERE name = ?1 AND deleted_at = 0`
	// steerJob replaces the control of a definition: ?1 its id, ?2 its version, ?3 now.
	steerJob = `
UPDATE ax_jobs SET version = version + 1, updated_at = ?3, paused_at = ?4, paused_until = ?5,
  paused_by = ?6, pause_reason = ?7, skip_until = ?8, skip_by = ?9, skip_reason = ?10
WHERE id = ?1 AND version = ?2 AND deleted_at = 0`
	// jobCursor reads what decides about a fire; moveCursor records it.
	jobCursor  = `SELECT version, last_fire FROM ax_jobs WHERE id = ?1 AND deleted_at = 0`
	moveCursor = `
UPDATE ax_jobs SET last_fire = ?2, last_task = ?3, fires = fires + ?4
WHERE id = ?1 AND last_fire < ?2`
)

const (
	putKind = `
INSERT INTO ax_kinds (name, timeout, max_retries, retry_policy, updated_at, on_unknown,
  max_lifetime)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (name) DO UPDATE SET timeout = excluded.timeout, max_retries = excluded.max_retries,
  retry_policy = excluded.retry_policy, updated_at = excluded.updated_at,
  on_unknown = excluded.on_unknown, max_lifetime = excluded.max_lifetime`
	selectKinds = `
SELECT name, timeout, max_retries, retry_policy, updated_at, on_unknown, max_lifetime
FROM ax_kinds ORDER BY name`
)

// Membership. An executor is a member while retired_at is 0.
const (
	findInstance = `
SELECT epoch FROM ax_executors WHERE retired_at = 0 AND instance = ?1`
	retireName = `
UPDATE ax_executors SET retired_at = ?2 WHERE retired_at = 0 AND name = ?1 AND instance <> ?3`
	insertMember = `
INSERT INTO ax_executors (name, instance, grp, slots, renewals, registered_at, retired_at)
VALUES (?1, ?2, ?3, ?4, 0, ?5, 0)`
	changeMember = `
UPDATE ax_executors SET name = ?2, grp = ?3, slots = ?4, renewals = renewals + 1 WHERE epoch = ?1`
	renewMember = `
UPDATE ax_executors SET renewals = renewals + 1 WHERE epoch = ?1 AND retired_at = 0`
	retireMember  = `UPDATE ax_executors SET retired_at = ?2 WHERE epoch = ?1 AND retired_at = 0`
	isMember      = `SELECT 1 FROM ax_executors WHERE epoch = ?1 AND retired_at = 0`
	selectMembers = `
SELECT epoch, name, instance, grp, slots, renewals FROM ax_executors
WHERE retired_at = 0 ORDER BY epoch`
)
