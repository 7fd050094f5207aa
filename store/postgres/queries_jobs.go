package postgres

// jobColumns are read by row.job, in this order.
const jobColumns = `id, name, version, cron, zone, every, after, once_at, kind, grp, payload,
       bucket, overlap, misfire, max_retries, timeout, retry_policy, owner_service, labels,
       overlap_key, misfire_grace, misfire_cap, jitter, starts_at, ends_at, max_fires,
       on_unknown, max_lateness, max_lifetime, anchor, last_fire, last_task, created_at,
       updated_at, deleted_at, fires, paused_at, paused_until, paused_by, pause_reason,
       skip_until, skip_by, skip_reason`

// lockJob reads the definition of a name that is not deleted, and keeps others from changing it.
const lockJob verb = `
SELECT ` + jobColumns + `
  FROM schema.ax_jobs WHERE name = $1::text AND deleted_at IS NULL FOR NO KEY UPDATE`

// insertJob makes a definition; conflicting ids are an error of the caller's.
const insertJob verb = `
INSERT INTO schema.ax_jobs (` + jobColumns + `)
VALUES ($1::uuid, $2::text, $3::bigint, $4::text, $5::text, $6::bigint, $7::bigint, $8::bigint,
        $9::text, $10::text, $11::bytea, $12::smallint, $13::smallint, $14::smallint,
        $15::integer, $16::bigint, $17::text, $18::text, $19::text, $20::text, $21::bigint,
        $22::integer, $23::bigint, $24::bigint, $25::bigint, $26::bigint, $27::smallint,
        $28::bigint, $29::bigint, $30::bigint, $31::bigint, $32::uuid, $33::bigint, $34::bigint,
        NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`

// updateJob replaces what a person writes, and the cursor as it goes with a new schedule.
const updateJob verb = `
UPDATE schema.ax_jobs
   SET version = $3::bigint, cron = $4::text, zone = $5::text, every = $6::bigint,
       after = $7::bigint, once_at = $8::bigint, kind = $9::text, grp = $10::text,
       payload = $11::bytea, bucket = $12::smallint, overlap = $13::smallint,
       misfire = $14::smallint, max_retries = $15::integer, timeout = $16::bigint,
       retry_policy = $17::text, owner_service = $18::text, labels = $19::text,
       overlap_key = $20::text, misfire_grace = $21::bigint, misfire_cap = $22::integer,
       jitter = $23::bigint, starts_at = $24::bigint, ends_at = $25::bigint,
       max_fires = $26::bigint, on_unknown = $27::smallint, max_lateness = $28::bigint,
       max_lifetime = $29::bigint, updated_at = $30::bigint, last_fire = $31::bigint,
       fires = $32::bigint, skip_until = $33::bigint, skip_by = $34::text, skip_reason = $35::text
 WHERE id = $1::uuid AND name = $2::text`

// steerJob replaces the control of a definition.
const steerJob verb = `
UPDATE schema.ax_jobs
   SET version = version + 1, updated_at = c.now,
       paused_at = CASE $3::bigint WHEN -1 THEN c.now ELSE $3::bigint END,
       paused_until = $4::bigint, paused_by = $5::text, pause_reason = $6::text,
       skip_until = $7::bigint, skip_by = $8::text, skip_reason = $9::text
  FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now) c
 WHERE id = $1::uuid AND version = $2::bigint AND deleted_at IS NULL
RETURNING version`

// deleteJob ends a definition. Its version grows, so a fire under way is refused.
const deleteJob verb = `
UPDATE schema.ax_jobs
   SET version = version + 1, updated_at = c.now, deleted_at = c.now
  FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now) c
 WHERE name = $1::text AND deleted_at IS NULL
RETURNING version`

// readJobs reads definitions that changed, deleted ones too.
const readJobs verb = `
SELECT ` + jobColumns + ` FROM schema.ax_jobs WHERE updated_at >= $1::bigint ORDER BY id`

// lockCursors locks the definitions of fires in the order of their ids.
const lockCursors verb = `
SELECT id, version, last_fire, deleted_at IS NOT NULL
  FROM schema.ax_jobs WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`

// moveCursors notes the latest fire of each definition. It leaves updated_at alone.
const moveCursors verb = `
UPDATE schema.ax_jobs AS j
   SET last_fire = ($3::bigint[])[n], last_task = ($4::uuid[])[n],
       fires = j.fires + coalesce(($5::integer[])[n], 0)
  FROM unnest($1::integer[]) AS n
 WHERE j.id = ($2::uuid[])[n] AND j.last_fire < ($3::bigint[])[n]`
