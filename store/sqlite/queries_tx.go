package sqlite

// The statements of TxWriter. They run on a connection of the caller's, through database/sql.

const (
	// lockTx takes the write lock of the file and changes nothing: what is read after it stays true.
	lockTx     = `UPDATE ax_meta SET value = value WHERE name = ''`
	savepoint  = `SAVEPOINT ax`
	release    = `RELEASE ax`
	rollbackTo = `ROLLBACK TO ax`
)

// insertTaskTx is insertTask for a task that has never been moved. It numbers the row by itself:
// the store's own counters belong to its own transactions.
const insertTaskTx = `
INSERT INTO ax_tasks (n, hist, id, grp, bucket, kind, run_at, updated_at, run, state, version,
  last_outcome, reason, attempt, failures, dispatches, recoveries, executor, epoch, token,
  dispatched_at, started_at, finished_at, last_retry_at, triggered_at, cancel_asked, stop_asked,
  error, expires_at, room)
VALUES ((SELECT coalesce(max(n), 0) + 1 FROM ax_tasks),
  (SELECT coalesce(max(h), 0) + 1 FROM ax_history), ?1, ?2, ?3, ?4, ?5, ?6, ?7, 2, 1,
  0, 0, 0, 0, 0, 0, '', 0, 0, 0, 0, 0, 0, 0, 0, 0, '', nullif(?8, 0),
  zeroblob(64))
ON CONFLICT (id) DO NOTHING`

const insertSpecTx = `
INSERT INTO ax_specs (n, key, job, fire_time, fire_from, fire_count, overlap, overlap_key,
  max_retries, timeout, retry_policy, owner_service, labels, created_at, payload, on_unknown,
  max_lateness, max_lifetime)
VALUES (?1, ?2, '', ?3, 0, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, nullif(?13, 0),
  nullif(?14, 0), nullif(?15, 0))`

const insertHistoryTx = `
INSERT INTO ax_history (h, prev, n, version, at, from_state, to_state, event, reason, attempt,
  epoch, token, executor, actor, detail)
SELECT hist, 0, n, 1, ?2, 0, 2, 1, 0, 0, 0, 0, '', '', '' FROM ax_tasks WHERE n = ?1`

// The unique key of an insert, as takeUnique and findUnique.
const (
	takeUniqueTx = `
INSERT INTO ax_unique (kind, key, n) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`
	findUniqueTx = `
SELECT t.id, t.state, t.version, t.run_at
FROM ax_unique u JOIN ax_tasks t ON t.n = u.n
WHERE u.kind = ?1 AND u.key = ?2`
	findTaskTx = `SELECT id, state, version, run_at FROM ax_tasks WHERE id = ?1`
	dropTaskTx = `DELETE FROM ax_tasks WHERE n = ?1`
)

// A key that is kept beyond its task, as keepKey, keeper and dropUnique.
const (
	keepKeyTx = `
INSERT INTO ax_kept_keys (kind, key, id, until) VALUES (?1, ?2, ?3, nullif(?4, 0))
ON CONFLICT (kind, key) DO UPDATE SET id = excluded.id, until = excluded.until
WHERE ax_kept_keys.until <= ?5`
	keeperTx = `
SELECT k.id, coalesce(t.state, 0), coalesce(t.version, 0), coalesce(t.run_at, 0)
FROM ax_kept_keys k LEFT JOIN ax_tasks t ON t.id = k.id
WHERE k.kind = ?1 AND k.key = ?2`
	dropUniqueTx = `DELETE FROM ax_unique WHERE kind = ?1 AND key = ?2`
)

// recordDoneTx adds the history row of a completion if the execution is the one that runs; it comes
// before the move, because it needs the row's last one. doneTx moves the row, whose history is the
// row just added.
const (
	recordDoneTx = `
INSERT INTO ax_history (h, prev, n, version, at, from_state, to_state, event, reason, attempt,
  epoch, token, executor, execution_id, actor, detail)
SELECT (SELECT max(h) + 1 FROM ax_history), hist, n, version + 1, ?3, 4, 5, 18, 0, attempt,
  epoch, token, executor, execution_id, '', ''
FROM ax_tasks WHERE id = ?1 AND state = 4 AND execution_id = ?2`
	doneTx = `
UPDATE ax_tasks SET state = 5, version = version + 1, hist = (SELECT max(h) FROM ax_history),
  updated_at = ?3, finished_at = ?3, last_outcome = 1, reason = 0, error = '', result = NULL,
  room = NULL
WHERE id = ?1 AND state = 4 AND execution_id = ?2
RETURNING n, version`
	freeUniqueTx = `
DELETE FROM ax_unique WHERE n = ?1 AND kind = (SELECT kind FROM ax_tasks WHERE n = ?1)
  AND key = (SELECT key FROM ax_specs WHERE n = ?1)`
	freeKeyTx = `
DELETE FROM ax_keys WHERE key = (SELECT overlap_key FROM ax_specs WHERE n = ?1)
  AND holder = (SELECT id FROM ax_tasks WHERE n = ?1)`
)
