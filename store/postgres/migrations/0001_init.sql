-- The tables of ax. The name of their schema is put in where the placeholder stands.
--
-- Times are microseconds since 1970 UTC, durations nanoseconds as in Go, states and events the
-- numbers of package task. In nullable columns NULL, 0 and '' mean the same: not set. A NULL takes
-- no room in the row, and most columns of most rows are not set.

CREATE TABLE schema.ax_meta (
    name  text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE schema.ax_tasks (
    -- hot and narrow, the 8-byte ones first so that no padding is stored
    id            uuid     NOT NULL,
    run_at        bigint   NOT NULL,
    version       bigint   NOT NULL,
    created_at    bigint   NOT NULL,
    updated_at    bigint   NOT NULL,
    epoch         bigint,
    token         bigint,
    dispatched_at bigint,
    started_at    bigint,
    finished_at   bigint,
    last_retry_at bigint,
    triggered_at  bigint,
    cancel_asked  bigint,
    stop_asked    bigint,
    fire_time     bigint,
    fire_from     bigint,
    timeout       bigint,
    expires_at    bigint,
    max_lateness  bigint,
    max_lifetime  bigint,
    execution_id  uuid,
    job_id        uuid,
    run           integer,
    attempt       integer,
    failures      integer,
    dispatches    integer,
    recoveries    integer,
    fire_count    integer,
    max_retries   integer,
    state         smallint NOT NULL,
    bucket        smallint NOT NULL,
    last_outcome  smallint,
    reason        smallint,
    overlap       smallint,
    on_unknown    smallint,
    ukey          boolean  NOT NULL, -- has a key and is not final: see ax_tasks_key
    kind          text     NOT NULL,
    grp           text     NOT NULL,
    key           text,
    job           text,
    overlap_key   text,
    executor      text,
    retry_policy  text,
    owner_service text,
    labels        text, -- JSON; not jsonb, which refuses \u0000
    error         text,
    payload       bytea,
    result        bytea,

    CONSTRAINT ax_tasks_pkey PRIMARY KEY (id),
    -- the resting states: FAILED (6) and TIMEOUT (7) exist only in the history; no further checks,
    -- because PostgreSQL parses the text of each one anew for each statement
    CONSTRAINT ax_tasks_state CHECK (state IN (1, 2, 3, 4, 5, 8, 9, 10, 11))
) WITH (
    -- each task leaves two dead rows behind: vacuum early, in small and unhindered passes
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05
);

-- the due scan, one cursor per (grp, bucket)
CREATE INDEX ax_tasks_due ON schema.ax_tasks (grp, bucket, run_at, id) INCLUDE (kind)
    WHERE state = 2;
-- sweep, adoption, inbox, cancel; id comes first because pages of all epochs are walked by it,
-- and few enough tasks are live at a time to look at them all for one epoch
CREATE INDEX ax_tasks_live ON schema.ax_tasks (id, epoch) WHERE state IN (3, 4);
-- what waits and may expire, for the sweep
CREATE INDEX ax_tasks_expires ON schema.ax_tasks (expires_at, id)
    WHERE expires_at > 0 AND state IN (1, 2);
-- one live task for each (kind, key)
CREATE UNIQUE INDEX ax_tasks_key ON schema.ax_tasks (kind, key) WHERE ukey;
-- one task for each fire of a job
CREATE UNIQUE INDEX ax_tasks_fire ON schema.ax_tasks (job_id, fire_time)
    WHERE job_id IS NOT NULL;
-- what an operator looks for; a task that goes well never enters them
CREATE INDEX ax_tasks_rest ON schema.ax_tasks (state, id) WHERE state IN (1, 8, 9, 10, 11);
CREATE INDEX ax_tasks_job ON schema.ax_tasks (job, id) WHERE job IS NOT NULL;

CREATE TABLE schema.ax_history (
    task_id      uuid     NOT NULL,
    version      bigint   NOT NULL,
    at           bigint   NOT NULL,
    epoch        bigint,
    token        bigint,
    execution_id uuid,
    attempt      integer,
    from_state   smallint NOT NULL,
    to_state     smallint NOT NULL,
    event        smallint NOT NULL,
    reason       smallint,
    executor     text,
    actor        text,
    detail       text,

    CONSTRAINT ax_history_pkey PRIMARY KEY (task_id, version)
);

-- what the last execution of a task has said of its progress, and its output so far
CREATE TABLE schema.ax_progress (
    task_id      uuid   PRIMARY KEY,
    execution_id uuid   NOT NULL,
    at           bigint NOT NULL,
    done         bigint NOT NULL,
    total        bigint NOT NULL,
    output       bytea
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- the log lines of executions
CREATE TABLE schema.ax_logs (
    task_id      uuid    NOT NULL,
    execution_id uuid    NOT NULL,
    seq          bigint  NOT NULL,
    at           bigint  NOT NULL,
    level        integer NOT NULL,
    text         text    NOT NULL,

    CONSTRAINT ax_logs_pkey PRIMARY KEY (task_id, execution_id, seq)
);

CREATE TABLE schema.ax_keys (
    key    text PRIMARY KEY,
    holder uuid NOT NULL -- the task that runs under this overlap key
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);

-- keys that stay taken whatever becomes of their task, also when it was deleted
CREATE TABLE schema.ax_kept_keys (
    kind  text NOT NULL,
    key   text NOT NULL,
    id    uuid NOT NULL, -- the task
    until bigint,        -- NULL: for ever

    CONSTRAINT ax_kept_keys_pkey PRIMARY KEY (kind, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);

CREATE INDEX ax_kept_keys_until ON schema.ax_kept_keys (until) WHERE until IS NOT NULL;

CREATE TABLE schema.ax_jobs (
    id            uuid PRIMARY KEY,
    name          text     NOT NULL,
    version       bigint   NOT NULL,
    cron          text     NOT NULL,
    zone          text     NOT NULL,
    every         bigint   NOT NULL,
    after         bigint   NOT NULL,
    once_at       bigint   NOT NULL,
    kind          text     NOT NULL,
    grp           text     NOT NULL,
    payload       bytea,
    bucket        smallint NOT NULL,
    overlap       smallint NOT NULL,
    misfire       smallint NOT NULL,
    max_retries   integer  NOT NULL,
    timeout       bigint   NOT NULL,
    retry_policy  text     NOT NULL,
    owner_service text     NOT NULL,
    labels        text,
    overlap_key   text     NOT NULL, -- '' is one of its own
    misfire_grace bigint   NOT NULL,
    misfire_cap   integer  NOT NULL,
    jitter        bigint   NOT NULL,
    starts_at     bigint   NOT NULL,
    ends_at       bigint   NOT NULL,
    max_fires     bigint   NOT NULL,
    on_unknown    smallint NOT NULL,
    max_lateness  bigint   NOT NULL,
    max_lifetime  bigint   NOT NULL,
    anchor        bigint   NOT NULL,
    last_fire     bigint   NOT NULL,
    last_task     uuid,
    created_at    bigint   NOT NULL,
    updated_at    bigint   NOT NULL,
    deleted_at    bigint,
    fires         bigint   NOT NULL, -- that were to run
    paused_at     bigint,
    paused_until  bigint,
    paused_by     text,
    pause_reason  text,
    skip_until    bigint,
    skip_by       text,
    skip_reason   text
) WITH (fillfactor = 50); -- every fire updates its cursor in place

CREATE UNIQUE INDEX ax_jobs_name ON schema.ax_jobs (name) WHERE deleted_at IS NULL;

CREATE TABLE schema.ax_kinds (
    name         text PRIMARY KEY,
    timeout      bigint  NOT NULL,
    max_retries  integer NOT NULL,
    retry_policy text    NOT NULL,
    updated_at   bigint  NOT NULL,
    on_unknown   smallint,
    max_lifetime bigint
);

CREATE TABLE schema.ax_executors (
    epoch      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text    NOT NULL,
    instance   text    NOT NULL,
    grp        text    NOT NULL,
    slots      integer NOT NULL,
    until      bigint  NOT NULL,
    renewals   bigint  NOT NULL,
    retired_at bigint
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX ax_executors_instance ON schema.ax_executors (instance)
    WHERE retired_at IS NULL;

CREATE TABLE schema.ax_leases (
    partition integer PRIMARY KEY,
    holder    text   NOT NULL,
    until     bigint NOT NULL
) WITH (fillfactor = 50);

-- the installed fencing token of each partition, share-locked by each write of a leader
CREATE TABLE schema.ax_partitions (
    partition    integer PRIMARY KEY,
    token        bigint NOT NULL,
    holder       text   NOT NULL,
    installed_at bigint NOT NULL
) WITH (fillfactor = 50);

INSERT INTO schema.ax_meta (name, value) VALUES ('product', 'ax');
