package aside

import "github.com/ax-sched/ax/store/mysql/internal/wire"

// Leases. Each write changes the row, so that the count of changed rows is that of matched ones.
const (
	lockLease wire.Verb = `
SELECT holder, ends_at FROM ax_leases WHERE part = ? FOR UPDATE`
	insertLease wire.Verb = `
INSERT INTO ax_leases (part, holder, ends_at, renewals) VALUES (?, ?, ?, 0)`
	takeLease wire.Verb = `
UPDATE ax_leases SET holder = ?, ends_at = ?, renewals = renewals + 1 WHERE part = ?`
	readLease wire.Verb = `
SELECT holder, ends_at - timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))
  FROM ax_leases WHERE part = ?`
	renewLease wire.Verb = `
UPDATE ax_leases
   SET ends_at = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + ?,
       renewals = renewals + 1
 WHERE part = ? AND holder = ?`
	releaseLease wire.Verb = `
UPDATE ax_leases SET holder = '', ends_at = 0 WHERE part = ? AND holder = ?`
)

// Membership. An executor is a member while retired_at is 0. Whoever registers holds lockNames:
// two instances of one name that register at once must not overlook each other.
const (
	lockNames    wire.Verb = `SELECT value FROM ax_meta WHERE name = 'product' FOR UPDATE`
	findInstance wire.Verb = `
SELECT epoch FROM ax_executors WHERE retired_at = 0 AND instance = ?`
	retireNamesakes wire.Verb = `
UPDATE ax_executors SET retired_at = ? WHERE retired_at = 0 AND name = ? AND instance <> ?`
	insertMember wire.Verb = `
INSERT INTO ax_executors (name, instance, grp, slots, ends_at, renewals, registered_at,
  retired_at)
VALUES (?, ?, ?, ?, ?, 0, ?, 0)`
	changeMember wire.Verb = `
UPDATE ax_executors SET name = ?, grp = ?, slots = ?, ends_at = ?, renewals = renewals + 1
 WHERE epoch = ?`
	renewMember wire.Verb = `
UPDATE ax_executors
   SET ends_at = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + ?,
       renewals = renewals + 1
 WHERE epoch = ? AND retired_at = 0`
	retireMember wire.Verb = `
UPDATE ax_executors SET retired_at = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))
 WHERE epoch = ? AND retired_at = 0
   AND ends_at <= timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))`
	endMember wire.Verb = `
UPDATE ax_executors SET retired_at = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))
 WHERE epoch = ? AND retired_at = 0`
	isMember    wire.Verb = `SELECT 1 FROM ax_executors WHERE epoch = ? AND retired_at = 0`
	readMembers wire.Verb = `
SELECT name, instance, grp, slots, epoch, ends_at, renewals
  FROM ax_executors WHERE retired_at = 0 ORDER BY epoch`
)

const (
	putKinds wire.Verb = `
INSERT INTO ax_kinds (name, timeout, max_retries, retry_policy, updated_at, on_unknown,
  max_lifetime)
VALUES {(?, ?, ?, ?, ?, ?, ?)}
ON DUPLICATE KEY UPDATE timeout = VALUES(timeout), max_retries = VALUES(max_retries),
  retry_policy = VALUES(retry_policy), updated_at = VALUES(updated_at),
  on_unknown = VALUES(on_unknown), max_lifetime = VALUES(max_lifetime)`
	readKinds wire.Verb = `
SELECT name, timeout, max_retries, retry_policy, updated_at, on_unknown, max_lifetime
  FROM ax_kinds ORDER BY name`
)
