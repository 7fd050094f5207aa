package mysql

// The statements that are neither of tasks nor of jobs.

// clock is now in microseconds, whatever the zone of the session; unix_timestamp would repeat an
// hour of the local time.
const (
	readClock verb = `SELECT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))`

	// holdFence share-locks the installed token until the end of the transaction and reads the
	// clock. MariaDB has no FOR SHARE.
	holdFence verb = `
SELECT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)), token
  FROM ax_partitions WHERE part = ? LOCK IN SHARE MODE`

	readToken    verb = `SELECT token FROM ax_partitions WHERE part = ?`
	installToken verb = `
INSERT INTO ax_partitions (part, token, holder, installed_at)
VALUES (?, ?, ?, timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)))`
	replaceToken verb = `
UPDATE ax_partitions
   SET token = ?, holder = ?,
       installed_at = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))
 WHERE part = ? AND token = ?`
)

// Marks: see conn.mark. CASE stops at the first lock that is free.
const (
	takeMark verb = `
SELECT CASE {WHEN get_lock(concat('ax', left(md5(concat(database(), ?)), 20), ?), 0) = 1 THEN ?| }
       END`
	findMarks verb = `
{SELECT is_used_lock(concat('ax', left(md5(concat(database(), ?)), 20), ?))| UNION ALL }`
	// releaseMarks is for sessions of the store's own, dropMarks for those of a caller.
	releaseMarks verb = `SELECT release_all_locks()`
	dropMarks    verb = `
DO {release_lock(concat('ax', left(md5(concat(database(), ?)), 20), ?))}`
	endSession verb = `KILL CONNECTION ?`
)
