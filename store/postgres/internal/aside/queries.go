package aside

// putKinds makes or replaces kinds, in the order of their names.
const putKinds = `
INSERT INTO schema.ax_kinds AS k (name, timeout, max_retries, retry_policy, updated_at, on_unknown,
       max_lifetime)
SELECT ($2::text[])[n], coalesce(($3::bigint[])[n], 0), coalesce(($4::integer[])[n], 0),
       coalesce(($5::text[])[n], ''), c.now, ($6::smallint[])[n], ($7::bigint[])[n]
  FROM unnest($1::integer[]) AS n,
       (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now) c
 ORDER BY 1
ON CONFLICT (name) DO UPDATE
   SET timeout = EXCLUDED.timeout, max_retries = EXCLUDED.max_retries,
       retry_policy = EXCLUDED.retry_policy, updated_at = EXCLUDED.updated_at,
       on_unknown = EXCLUDED.on_unknown, max_lifetime = EXCLUDED.max_lifetime`

// readKinds reads all kinds.
const readKinds = `
SELECT name, timeout, max_retries, retry_policy, updated_at, on_unknown, max_lifetime
  FROM schema.ax_kinds ORDER BY name`

// acquireLease takes a lease that is free, expired or the holder's own. The comparison is made
// again after a wait for another candidate, with the time of then.
const acquireLease = `
INSERT INTO schema.ax_leases AS l (partition, holder, until)
VALUES ($1::integer, $2::text,
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $3::bigint)
ON CONFLICT (partition) DO UPDATE
   SET holder = EXCLUDED.holder,
       until = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $3::bigint
 WHERE l.holder = $2::text
    OR l.until <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
RETURNING l.partition`

// readLease says who holds the lease and how long it still runs.
const readLease = `
SELECT holder, until - (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
  FROM schema.ax_leases WHERE partition = $1::integer`

// renewLease extends a lease that nobody took, also if it has expired.
const renewLease = `
UPDATE schema.ax_leases
   SET until = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $3::bigint
 WHERE partition = $1::integer AND holder = $2::text
RETURNING partition`

// releaseLease gives a lease up.
const releaseLease = `
DELETE FROM schema.ax_leases WHERE partition = $1::integer AND holder = $2::text`
