-- The first schema. Times are microseconds since 1970 UTC, 0 is "not set"; durations are
-- nanoseconds; ids are 16 bytes; states, events, reasons and outcomes are the numbers of package
-- task. n numbers the tasks within this file, h the history rows: both only for joins.

CREATE TABLE ax_meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What changes while a task lives. Narrow, because each move rewrites the row. No IN in checks and
-- in the conditions of indexes: SQLite fills a temporary table for it in every statement.
CREATE TABLE ax_tasks (
    n             INTEGER PRIMARY KEY,
    id            BLOB    NOT NULL CHECK (length(id) = 16),
    grp           TEXT    NOT NULL,
    bucket        INTEGER NOT NULL CHECK (bucket BETWEEN 1 AND 4),
    kind          TEXT    NOT NULL,
    state         INTEGER NOT NULL CHECK (state >= 1 AND state <= 11 AND state <> 6 AND state <> 7),
    version       INTEGER NOT NULL,
    hist          INTEGER NOT NULL, -- the latest history row
    run_at        INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    last_outcome  INTEGER NOT NULL,
    reason        INTEGER NOT NULL,
    run           INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    failures      INTEGER NOT NULL,
    dispatches    INTEGER NOT NULL,
    recoveries    INTEGER NOT NULL,
    executor      TEXT    NOT NULL,
    epoch         INTEGER NOT NULL,
    execution_id  BLOB,
    token         INTEGER NOT NULL,
    dispatched_at INTEGER NOT NULL,
    started_at    INTEGER NOT NULL,
    finished_at   INTEGER NOT NULL,
    last_retry_at INTEGER NOT NULL,
    triggered_at  INTEGER NOT NULL,
    cancel_asked  INTEGER NOT NULL,
    stop_asked    INTEGER NOT NULL,
    expires_at    INTEGER, -- never changes; here and not in ax_specs for its index
    error         TEXT    NOT NULL,
    result        BLOB,
    room          BLOB -- what the first execution will need: without it its claim splits pages
) STRICT;

CREATE UNIQUE INDEX ax_tasks_id ON ax_tasks (id);
CREATE INDEX ax_tasks_due ON ax_tasks (grp, bucket, run_at, id, kind) WHERE state = 2;
-- What waits and may expire, for the sweep.
CREATE INDEX ax_tasks_expires ON ax_tasks (expires_at, id) WHERE expires_at > 0 AND state <= 2;
CREATE INDEX ax_tasks_live ON ax_tasks (id, epoch, cancel_asked) WHERE state >= 3 AND state <= 4;
-- What an operator looks for: all but scheduled, live and SUCCEEDED. A task that goes well never
-- enters it.
CREATE INDEX ax_tasks_rest ON ax_tasks (state, id) WHERE state < 2 OR state > 5;

-- What is fixed when a task is made, and its payload. Written once, joined by n.
CREATE TABLE ax_specs (
    n             INTEGER PRIMARY KEY,
    key           TEXT    NOT NULL, -- '' is none
    job_id        BLOB,
    job           TEXT    NOT NULL,
    fire_time     INTEGER NOT NULL,
    fire_from     INTEGER NOT NULL,
    fire_count    INTEGER NOT NULL,
    overlap       INTEGER NOT NULL,
    overlap_key   TEXT    NOT NULL,
    max_retries   INTEGER NOT NULL,
    timeout       INTEGER NOT NULL,
    retry_policy  TEXT    NOT NULL,
    owner_service TEXT    NOT NULL,
    labels        TEXT    NOT NULL, -- JSON, '' is none
    created_at    INTEGER NOT NULL,
    on_unknown    INTEGER, -- these are NULL in most rows
    max_lateness  INTEGER,
    max_lifetime  INTEGER,
    payload       BLOB
) STRICT;

-- The cursor of a job lets no fire time pass twice; this repeats it.
CREATE UNIQUE INDEX ax_specs_fire ON ax_specs (job_id, fire_time) WHERE fire_count > 0;

-- The live task of each (kind, key). A row goes when its task becomes final.
CREATE TABLE ax_unique (
    kind TEXT    NOT NULL,
    key  TEXT    NOT NULL,
    n    INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

-- Keys that stay taken whatever becomes of their task, also when it was deleted.
CREATE TABLE ax_kept_keys (
    kind  TEXT NOT NULL,
    key   TEXT NOT NULL,
    id    BLOB NOT NULL, -- the task
    until INTEGER,       -- NULL: for ever
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX ax_kept_keys_until ON ax_kept_keys (until) WHERE until > 0;

-- The holders of overlap keys.
CREATE TABLE ax_keys (
    key    TEXT NOT NULL PRIMARY KEY,
    holder BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Append-only, so that a move costs no search: the rows of one task are chained by prev from
-- ax_tasks.hist, the latest first.
CREATE TABLE ax_history (
    h            INTEGER PRIMARY KEY,
    prev         INTEGER NOT NULL, -- 0 at version 1
    n            INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    from_state   INTEGER NOT NULL CHECK (from_state BETWEEN 0 AND 11),
    to_state     INTEGER NOT NULL CHECK (to_state BETWEEN 1 AND 11),
    event        INTEGER NOT NULL,
    reason       INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,
    token        INTEGER NOT NULL,
    executor     TEXT    NOT NULL,
    execution_id BLOB,
    actor        TEXT    NOT NULL,
    detail       TEXT    NOT NULL
) STRICT;

-- What the last execution of a task has said of its progress, and its output so far.
CREATE TABLE ax_progress (
    n            INTEGER PRIMARY KEY, -- that of ax_tasks
    execution_id BLOB    NOT NULL,
    at           INTEGER NOT NULL,
    done         INTEGER NOT NULL,
    total        INTEGER NOT NULL,
    output       BLOB
) STRICT;

-- The log lines of executions.
CREATE TABLE ax_logs (
    n            INTEGER NOT NULL,
    execution_id BLOB    NOT NULL,
    seq          INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    level        INTEGER NOT NULL,
    text         TEXT    NOT NULL,
    PRIMARY KEY (n, execution_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE ax_jobs (
    id            BLOB    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    version       INTEGER NOT NULL,
    cron          TEXT    NOT NULL,
    zone          TEXT    NOT NULL,
    every         INTEGER NOT NULL,
    after         INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    kind          TEXT    NOT NULL,
    grp           TEXT    NOT NULL,
    payload       BLOB,
    bucket        INTEGER NOT NULL,
    overlap       INTEGER NOT NULL,
    misfire       INTEGER NOT NULL,
    max_retries   INTEGER NOT NULL,
    timeout       INTEGER NOT NULL,
    retry_policy  TEXT    NOT NULL,
    owner_service TEXT    NOT NULL,
    labels        TEXT    NOT NULL,
    anchor        INTEGER NOT NULL,
    last_fire     INTEGER NOT NULL,
    last_task     BLOB,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    deleted_at    INTEGER NOT NULL,
    overlap_key   TEXT    NOT NULL, -- '' is one of its own
    misfire_grace INTEGER NOT NULL,
    misfire_cap   INTEGER NOT NULL,
    jitter        INTEGER NOT NULL,
    starts_at     INTEGER NOT NULL,
    ends_at       INTEGER NOT NULL,
    max_fires     INTEGER NOT NULL,
    fires         INTEGER NOT NULL, -- that were to run
    paused_at     INTEGER NOT NULL,
    paused_until  INTEGER NOT NULL,
    paused_by     TEXT    NOT NULL,
    pause_reason  TEXT    NOT NULL,
    skip_until    INTEGER NOT NULL,
    skip_by       TEXT    NOT NULL,
    skip_reason   TEXT    NOT NULL,
    on_unknown    INTEGER NOT NULL,
    max_lateness  INTEGER NOT NULL,
    max_lifetime  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX ax_jobs_name ON ax_jobs (name) WHERE deleted_at = 0;
CREATE INDEX ax_jobs_updated ON ax_jobs (updated_at);

CREATE TABLE ax_kinds (
    name         TEXT    NOT NULL PRIMARY KEY,
    timeout      INTEGER NOT NULL,
    max_retries  INTEGER NOT NULL,
    retry_policy TEXT    NOT NULL,
    updated_at   INTEGER NOT NULL,
    on_unknown   INTEGER NOT NULL,
    max_lifetime INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The installed fencing token of each partition.
CREATE TABLE ax_partitions (
    partition    INTEGER NOT NULL PRIMARY KEY,
    token        INTEGER NOT NULL,
    holder       TEXT    NOT NULL,
    installed_at INTEGER NOT NULL
) STRICT;

-- AUTOINCREMENT: an epoch is never given twice.
CREATE TABLE ax_executors (
    epoch         INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT    NOT NULL,
    instance      TEXT    NOT NULL,
    grp           TEXT    NOT NULL,
    slots         INTEGER NOT NULL,
    renewals      INTEGER NOT NULL,
    registered_at INTEGER NOT NULL,
    retired_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX ax_executors_member ON ax_executors (epoch) WHERE retired_at = 0;
