package postgres

// readToken reads the installed token.
const readToken verb = `SELECT token FROM schema.ax_partitions WHERE partition = $1::integer`

// installToken replaces token $2 by the next one, making the row of a partition that never had a
// leader. It conflicts with the share lock of holdFence and so waits for writes under way.
const installToken verb = `
INSERT INTO schema.ax_partitions AS p (partition, token, holder, installed_at)
SELECT $1::integer, 1, $3::text, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
 WHERE $2::bigint = 0
ON CONFLICT (partition) DO UPDATE
   SET token = p.token + 1, holder = EXCLUDED.holder, installed_at = EXCLUDED.installed_at
 WHERE p.token = 0
RETURNING token`

// replaceToken is installToken for a partition that had a leader.
const replaceToken verb = `
UPDATE schema.ax_partitions
   SET token = token + 1, holder = $3::text,
       installed_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
 WHERE partition = $1::integer AND token = $2::bigint
RETURNING token`

// endFenceHolders ends the sessions, of this role, that have kept a lock on the table of
// tokens for longer than any write of a living leader takes. They belong to a process that was
// stopped in the middle of a write. A row lock shows only by the table lock that comes with it.
const endFenceHolders verb = `
SELECT count(pg_terminate_backend(a.pid))::integer
  FROM pg_stat_activity AS a
 WHERE a.pid <> pg_backend_pid() AND a.usesysid = (
        SELECT oid FROM pg_roles WHERE rolname = current_user)
   AND a.xact_start < clock_timestamp() - $2::bigint * interval '1 microsecond'
   AND EXISTS (SELECT FROM pg_locks AS l
        WHERE l.pid = a.pid AND l.granted AND l.locktype = 'relation'
          AND l.relation = $1::text::regclass
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND l.mode IN ('RowShareLock', 'RowExclusiveLock'))`

// registerMember makes a member, or renews that of the same instance.
const registerMember verb = `
INSERT INTO schema.ax_executors AS e (name, instance, grp, slots, until, renewals)
VALUES ($1::text, $2::text, $3::text, $4::integer,
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $5::bigint, 0)
ON CONFLICT (instance) WHERE retired_at IS NULL DO UPDATE
   SET name = EXCLUDED.name, grp = EXCLUDED.grp, slots = EXCLUDED.slots, until = EXCLUDED.until,
       renewals = e.renewals + 1
RETURNING epoch`

// retireNamesakes retires the other epochs of a name.
const retireNamesakes verb = `
UPDATE schema.ax_executors
   SET retired_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
 WHERE name = $1::text AND epoch <> $2::bigint AND retired_at IS NULL`

// renewMember extends the lease of an unretired epoch.
const renewMember verb = `
UPDATE schema.ax_executors
   SET until = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $2::bigint,
       renewals = renewals + 1
 WHERE epoch = $1::bigint AND retired_at IS NULL
RETURNING epoch`

// retireMember declares an expired epoch lost: the one statement that does.
const retireMember verb = `
UPDATE schema.ax_executors
   SET retired_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
 WHERE epoch = $1::bigint AND retired_at IS NULL
   AND ($2::boolean OR until < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
RETURNING epoch`

// isMember reports whether an epoch is unretired.
const isMember verb = `
SELECT EXISTS (SELECT FROM schema.ax_executors WHERE epoch = $1::bigint AND retired_at IS NULL)`

// readMembers reads the unretired executors.
const readMembers verb = `
SELECT name, instance, grp, slots, epoch, until, renewals
  FROM schema.ax_executors WHERE retired_at IS NULL ORDER BY epoch`
