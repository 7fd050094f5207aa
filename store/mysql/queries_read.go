package mysql

// The statements that read tasks. The columns of a whole task are always in the order of row.Task.
const (
	selectTasks verb = `
SELECT t.state, t.run_at, t.last_outcome, t.reason, t.run, t.attempt, t.failures, t.dispatches,
  t.recoveries, t.executor, t.epoch, t.execution_id, t.token, t.dispatched_at, t.started_at,
  t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked, t.stop_asked, t.error,
  t.result, t.version, t.updated_at, t.id, t.grp, t.bucket, t.kind, t.expires_at, s.ukey,
  s.job_id, s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key,
  s.max_retries, s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at,
  s.on_unknown, s.max_lateness, s.max_lifetime, s.payload
  FROM ax_tasks t JOIN ax_specs s ON s.id = t.id
 WHERE t.id IN ({?})`

	selectByKey verb = `
SELECT t.state, t.run_at, t.last_outcome, t.reason, t.run, t.attempt, t.failures, t.dispatches,
  t.recoveries, t.executor, t.epoch, t.execution_id, t.token, t.dispatched_at, t.started_at,
  t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked, t.stop_asked, t.error,
  t.result, t.version, t.updated_at, t.id, t.grp, t.bucket, t.kind, t.expires_at, s.ukey,
  s.job_id, s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key,
  s.max_retries, s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at,
  s.on_unknown, s.max_lateness, s.max_lifetime, s.payload
  FROM ax_unique u JOIN ax_tasks t ON t.id = u.id JOIN ax_specs s ON s.id = u.id
 WHERE u.kind = ? AND u.ukey = ?`

	// selectLive: after this id, of this epoch or 0 twice, only asked to cancel or 0, limit.
	selectLive verb = `
SELECT STRAIGHT_JOIN
  t.state, t.run_at, t.last_outcome, t.reason, t.run, t.attempt, t.failures, t.dispatches,
  t.recoveries, t.executor, t.epoch, t.execution_id, t.token, t.dispatched_at, t.started_at,
  t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked, t.stop_asked, t.error, NULL,
  t.version, t.updated_at, t.id, t.grp, t.bucket, t.kind, t.expires_at, s.ukey, s.job_id,
  s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key, s.max_retries,
  s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at, s.on_unknown,
  s.max_lateness, s.max_lifetime, NULL
  FROM ax_tasks t FORCE INDEX (ax_tasks_due) JOIN ax_specs s ON s.id = t.id
 WHERE t.state IN (3, 4) AND t.id > ? AND (? = 0 OR t.epoch = ?)
   AND (? = 0 OR t.cancel_asked <> 0)
 ORDER BY t.id LIMIT ?`

	// selectExpired: now, limit.
	selectExpired verb = `
SELECT STRAIGHT_JOIN
  t.state, t.run_at, t.last_outcome, t.reason, t.run, t.attempt, t.failures, t.dispatches,
  t.recoveries, t.executor, t.epoch, t.execution_id, t.token, t.dispatched_at, t.started_at,
  t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked, t.stop_asked, t.error, NULL,
  t.version, t.updated_at, t.id, t.grp, t.bucket, t.kind, t.expires_at, s.ukey, s.job_id,
  s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key, s.max_retries,
  s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at, s.on_unknown,
  s.max_lateness, s.max_lifetime, NULL
  FROM ax_tasks t FORCE INDEX (ax_tasks_waits) JOIN ax_specs s ON s.id = t.id
 WHERE t.waits_until > 0 AND t.waits_until < ? AND t.triggered_at <= t.waits_until
 ORDER BY t.waits_until, t.id LIMIT ?`

	// selectList: before this id, states as bits, and twice each kind, key and job or '', limit.
	selectList verb = `
SELECT STRAIGHT_JOIN
  t.state, t.run_at, t.last_outcome, t.reason, t.run, t.attempt, t.failures, t.dispatches,
  t.recoveries, t.executor, t.epoch, t.execution_id, t.token, t.dispatched_at, t.started_at,
  t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked, t.stop_asked, t.error, NULL,
  t.version, t.updated_at, t.id, t.grp, t.bucket, t.kind, t.expires_at, s.ukey, s.job_id,
  s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key, s.max_retries,
  s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at, s.on_unknown,
  s.max_lateness, s.max_lifetime, NULL
  FROM ax_tasks t FORCE INDEX (PRIMARY) JOIN ax_specs s ON s.id = t.id
 WHERE t.id < ? AND (1 << t.state) & ? AND (? = '' OR t.kind = ?) AND (? = '' OR s.ukey = ?)
   AND (? = '' OR s.job = ?)
 ORDER BY t.id DESC LIMIT ?`

	// selectRest is selectList for the one state of PENDING, DEAD, CANCELED, SKIPPED and HELD.
	selectRest verb = `
SELECT STRAIGHT_JOIN
  t.state, t.run_at, t.last_outcome, t.reason, t.run, t.attempt, t.failures, t.dispatches,
  t.recoveries, t.executor, t.epoch, t.execution_id, t.token, t.dispatched_at, t.started_at,
  t.finished_at, t.last_retry_at, t.triggered_at, t.cancel_asked, t.stop_asked, t.error, NULL,
  t.version, t.updated_at, t.id, t.grp, t.bucket, t.kind, t.expires_at, s.ukey, s.job_id,
  s.job, s.fire_time, s.fire_from, s.fire_count, s.overlap, s.overlap_key, s.max_retries,
  s.timeout, s.retry_policy, s.owner_service, s.labels, s.created_at, s.on_unknown,
  s.max_lateness, s.max_lifetime, NULL
  FROM ax_tasks t FORCE INDEX (ax_tasks_rest) JOIN ax_specs s ON s.id = t.id
 WHERE t.id < ? AND t.rest = ? AND (? = '' OR t.kind = ?) AND (? = '' OR s.ukey = ?)
   AND (? = '' OR s.job = ?)
 ORDER BY t.id DESC LIMIT ?`

	// selectDue is one page of one queue with its place in the call, answered from the index alone.
	// The bound of run_at stands apart from that of the pair, which MariaDB does not look up.
	selectDue verb = `
{(SELECT ?, run_at, id, kind FROM ax_tasks FORCE INDEX (ax_tasks_due)
  WHERE state = 2 AND grp = ? AND bucket = ? AND run_at >= ? AND run_at <= ?
    AND (run_at > ? OR id > ?)
  ORDER BY run_at, id LIMIT ?)| UNION ALL }`

	selectHistory verb = `
SELECT version, said_at, from_state, to_state, event, reason, attempt, epoch, token, executor,
  execution_id, actor, detail
  FROM ax_history WHERE task_id = ? ORDER BY version`

	// countTasks counts up to a limit of each state.
	countTasks verb = `
{SELECT ?, count(*) FROM (SELECT 1 FROM ax_tasks FORCE INDEX (ax_tasks_due)
  WHERE state = ? LIMIT ?) AS counted| UNION ALL }`

	// pageTasks walks tasks by id for the retention: after this id, up to this one, limit.
	pageTasks verb = `
SELECT STRAIGHT_JOIN t.id, t.state, t.version, t.updated_at, t.kind, s.job
  FROM ax_tasks t FORCE INDEX (PRIMARY) JOIN ax_specs s ON s.id = t.id
 WHERE t.id > ? AND t.id <= ?
 ORDER BY t.id LIMIT ?`
)

// Retention. What another transaction holds is left for the next walk.
const (
	lockEnded verb = `
SELECT id, version FROM ax_tasks FORCE INDEX (PRIMARY)
 WHERE id IN ({?}) AND state IN (5, 8, 9, 10)
 ORDER BY id FOR UPDATE SKIP LOCKED`
	// A list in a condition would scan a small table, whatever index is named, and lock the rows of
	// others for a moment.
	pruneTasks verb = `
DELETE d FROM (SELECT id FROM ax_specs WHERE 1 = 0 UNION ALL {SELECT ?| UNION ALL }) n
  STRAIGHT_JOIN ax_tasks d FORCE INDEX (PRIMARY) ON d.id = n.id`
	pruneSpecs verb = `
DELETE d FROM (SELECT id FROM ax_specs WHERE 1 = 0 UNION ALL {SELECT ?| UNION ALL }) n
  STRAIGHT_JOIN ax_specs d FORCE INDEX (PRIMARY) ON d.id = n.id`
	pruneHistory verb = `
DELETE d FROM (SELECT id FROM ax_specs WHERE 1 = 0 UNION ALL {SELECT ?| UNION ALL }) n
  STRAIGHT_JOIN ax_history d FORCE INDEX (PRIMARY) ON d.task_id = n.id`
	pruneNotes verb = `
DELETE d FROM (SELECT id FROM ax_specs WHERE 1 = 0 UNION ALL {SELECT ?| UNION ALL }) n
  STRAIGHT_JOIN ax_progress d FORCE INDEX (PRIMARY) ON d.task_id = n.id`
	pruneLogs verb = `
DELETE d FROM (SELECT id FROM ax_specs WHERE 1 = 0 UNION ALL {SELECT ?| UNION ALL }) n
  STRAIGHT_JOIN ax_logs d FORCE INDEX (PRIMARY) ON d.task_id = n.id`
	lockOver verb = `
SELECT kind, ukey FROM ax_kept_keys FORCE INDEX (ax_kept_keys_until)
 WHERE kept_until > 0 AND kept_until <= ? ORDER BY kept_until LIMIT ? FOR UPDATE SKIP LOCKED`
	pruneKept verb = `
DELETE d FROM (
  SELECT kind, ukey FROM ax_kept_keys WHERE 1 = 0 UNION ALL {SELECT ?, ?| UNION ALL }) n
  STRAIGHT_JOIN ax_kept_keys d FORCE INDEX (PRIMARY) ON d.kind = n.kind AND d.ukey = n.ukey`
)
