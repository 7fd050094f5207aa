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
	releaseMarks verb = `SELECT release_all_locks()`
	endSession   verb = `KILL CONNECTION ?`
)

// Leases. Each write changes the row, so that the count of changed rows is that of matched ones.
const (
	lockLease verb = `
SELECT holder, ends_at FROM ax_leases WHERE part = ? FOR UPDATE`
	insertLease verb = `
INSERT INTO ax_leases (part, holder, ends_at, renewals) VALUES (?, ?, ?, 0)`
	takeLease verb = `
UPDATE ax_leases SET holder = ?, ends_at = ?, renewals = renewals + 1 WHERE part = ?`
	readLease verb = `
SELECT holder, ends_at - timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))
  FROM ax_leases WHERE part = ?`
	renewLease verb = `
UPDATE ax_leases
   SET ends_at = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + ?,
       renewals = renewals + 1
 WHERE part = ? AND holder = ?`
	releaseLease verb = `
UPDATE ax_leases SET holder = '', ends_at = 0 WHERE part = ? AND holder = ?`
)

// Membership. An executor is a member while retired_at is 0. Whoever registers holds lockNames:
// two instances of one name that register at once must not overlook each other.
const (
	lockNames    verb = `SELECT value FROM ax_meta WHERE name = 'product' FOR UPDATE`
	findInstance verb = `
SELECT epoch FROM ax_executors WHERE retired_at = 0 AND instance = ?`
	retireNamesakes verb = `
UPDATE ax_executors SET retired_at = ? WHERE retired_at = 0 AND name = ? AND instance <> ?`
	insertMember verb = `
INSERT INTO ax_executors (name, instance, grp, slots, ends_at, renewals, registered_at,
  retired_at)
VALUES (?, ?, ?, ?, ?, 0, ?, 0)`
	changeMember verb = `
UPDATE ax_executors SET name = ?, grp = ?, slots = ?, ends_at = ?, renewals = renewals + 1
 WHERE epoch = ?`
	renewMember verb = `
UPDATE ax_executors
   SET ends_at = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + ?,
       renewals = renewals + 1
 WHERE epoch = ? AND retired_at = 0`
	retireMember verb = `
UPDATE ax_executors SET retired_at = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))
 WHERE epoch = ? AND retired_at = 0
   AND ends_at <= timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))`
	endMember verb = `
UPDATE ax_executors SET retired_at = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))
 WHERE epoch = ? AND retired_at = 0`
	isMember    verb = `SELECT 1 FROM ax_executors WHERE epoch = ? AND retired_at = 0`
	readMembers verb = `
SELECT name, instance, grp, slots, epoch, ends_at, renewals
  FROM ax_executors WHERE retired_at = 0 ORDER BY epoch`
)

const (
	putKinds verb = `
INSERT INTO ax_kinds (name, timeout, max_retries, retry_policy, updated_at, on_unknown,
  max_lifetime)
VALUES {(?, ?, ?, ?, ?, ?, ?)}
ON DUPLICATE KEY UPDATE timeout = VALUES(timeout), max_retries = VALUES(max_retries),
  retry_policy = VALUES(retry_policy), updated_at = VALUES(updated_at),
  on_unknown = VALUES(on_unknown), max_lifetime = VALUES(max_lifetime)`
	readKinds verb = `
SELECT name, timeout, max_retries, retry_policy, updated_at, on_unknown, max_lifetime
  FROM ax_kinds ORDER BY name`
)
