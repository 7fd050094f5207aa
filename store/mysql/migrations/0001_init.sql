-- The first schema. Times are microseconds since 1970 UTC, 0 is "not set"; durations are
-- nanoseconds; ids are 16 bytes; states, events, reasons and outcomes are the numbers of package
-- task. All texts are VARBINARY or BLOB: they are compared byte by byte, with their trailing
-- spaces, which no collation that MySQL and MariaDB share does. CONVERT(kind USING utf8mb4) shows
-- one. Each statement can be made again: DDL is not part of a transaction here.

-- What changes while a task lives, and what scans read. Narrow, because each move rewrites it.
CREATE TABLE IF NOT EXISTS ax_tasks (
    id            BINARY(16)        NOT NULL,
    grp           VARBINARY(250)    NOT NULL,
    bucket        TINYINT UNSIGNED  NOT NULL,
    kind          VARBINARY(250)    NOT NULL,
    state         TINYINT UNSIGNED  NOT NULL,
    rest          TINYINT UNSIGNED  NULL, -- state of HELD, DEAD, CANCELED and SKIPPED, for its index
    version       BIGINT            NOT NULL,
    run_at        BIGINT            NOT NULL,
    updated_at    BIGINT            NOT NULL,
    last_outcome  TINYINT UNSIGNED  NOT NULL,
    reason        TINYINT UNSIGNED  NOT NULL,
    run           INT               NOT NULL,
    attempt       INT               NOT NULL,
    failures      INT               NOT NULL,
    dispatches    INT               NOT NULL,
    recoveries    INT               NOT NULL,
    executor      VARBINARY(1000)   NOT NULL,
    epoch         BIGINT            NOT NULL,
    execution_id  BINARY(16)        NULL,
    token         BIGINT            NOT NULL,
    dispatched_at BIGINT            NOT NULL,
    started_at    BIGINT            NOT NULL,
    finished_at   BIGINT            NOT NULL,
    last_retry_at BIGINT            NOT NULL,
    triggered_at  BIGINT            NOT NULL,
    cancel_asked  BIGINT            NOT NULL,
    stop_asked    BIGINT            NOT NULL,
    expires_at    BIGINT            NOT NULL, -- never changes
    waits_until   BIGINT            NULL, -- expires_at of a task that waits, for its index
    error         LONGBLOB          NOT NULL,
    result        LONGBLOB          NULL,
    PRIMARY KEY (id),
    KEY ax_tasks_due (state, grp, bucket, run_at, id, kind),
    -- A task that goes well never moves in these two.
    KEY ax_tasks_rest (rest, id),
    KEY ax_tasks_waits (waits_until, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

-- What is fixed when a task is made, and its payload. Written once.
CREATE TABLE IF NOT EXISTS ax_specs (
    id            BINARY(16)       NOT NULL,
    ukey          VARBINARY(1000)  NOT NULL, -- '' is none
    job_id        BINARY(16)       NULL,
    job           VARBINARY(250)   NOT NULL,
    fire_time     BIGINT           NOT NULL,
    fire_from     BIGINT           NOT NULL,
    fire_count    INT              NOT NULL,
    fire_of       BIGINT           NULL, -- fire_time of a fire, for its index
    overlap       TINYINT UNSIGNED NOT NULL,
    overlap_key   VARBINARY(1000)  NOT NULL,
    max_retries   INT              NOT NULL,
    timeout       BIGINT           NOT NULL,
    retry_policy  BLOB             NOT NULL,
    owner_service VARBINARY(1000)  NOT NULL,
    labels        LONGBLOB         NOT NULL, -- JSON, '' is none
    created_at    BIGINT           NOT NULL,
    on_unknown    TINYINT UNSIGNED NOT NULL,
    max_lateness  BIGINT           NOT NULL,
    max_lifetime  BIGINT           NOT NULL,
    payload       LONGBLOB         NULL,
    PRIMARY KEY (id),
    -- The cursor of a job lets no fire time pass twice; this repeats it.
    UNIQUE KEY ax_specs_fire (job_id, fire_of)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

-- The live task of each (kind, key). A row goes when its task becomes final.
CREATE TABLE IF NOT EXISTS ax_unique (
    kind VARBINARY(250)  NOT NULL,
    ukey VARBINARY(1000) NOT NULL,
    id   BINARY(16)      NOT NULL,
    PRIMARY KEY (kind, ukey),
    KEY ax_unique_id (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

-- Keys that stay taken whatever becomes of their task, also when it was deleted.
CREATE TABLE IF NOT EXISTS ax_kept_keys (
    kind       VARBINARY(250)  NOT NULL,
    ukey       VARBINARY(1000) NOT NULL,
    id         BINARY(16)      NOT NULL, -- the task
    kept_until BIGINT          NULL,     -- NULL: for ever
    PRIMARY KEY (kind, ukey),
    KEY ax_kept_keys_until (kept_until)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

-- The holders of overlap keys.
CREATE TABLE IF NOT EXISTS ax_keys (
    okey   VARBINARY(1000) NOT NULL,
    holder BINARY(16)      NOT NULL,
    PRIMARY KEY (okey)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

-- Append-only, one row a move.
CREATE TABLE IF NOT EXISTS ax_history (
    task_id      BINARY(16)       NOT NULL,
    version      BIGINT           NOT NULL,
    said_at      BIGINT           NOT NULL,
    from_state   TINYINT UNSIGNED NOT NULL,
    to_state     TINYINT UNSIGNED NOT NULL,
    event        TINYINT UNSIGNED NOT NULL,
    reason       TINYINT UNSIGNED NOT NULL,
    attempt      INT              NOT NULL,
    epoch        BIGINT           NOT NULL,
    token        BIGINT           NOT NULL,
    executor     VARBINARY(1000)  NOT NULL,
    execution_id BINARY(16)       NULL,
    actor        BLOB             NOT NULL,
    detail       LONGBLOB         NOT NULL,
    PRIMARY KEY (task_id, version)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

-- What the last execution of a task has said of its progress, and its output so far.
CREATE TABLE IF NOT EXISTS ax_progress (
    task_id      BINARY(16) NOT NULL,
    execution_id BINARY(16) NOT NULL,
    said_at      BIGINT     NOT NULL,
    done         BIGINT     NOT NULL,
    total        BIGINT     NOT NULL,
    output       LONGBLOB   NULL,
    PRIMARY KEY (task_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

-- The log lines of executions.
CREATE TABLE IF NOT EXISTS ax_logs (
    task_id      BINARY(16) NOT NULL,
    execution_id BINARY(16) NOT NULL,
    seq          BIGINT     NOT NULL,
    said_at      BIGINT     NOT NULL,
    level        INT        NOT NULL,
    line         MEDIUMBLOB NOT NULL,
    PRIMARY KEY (task_id, execution_id, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS ax_jobs (
    id            BINARY(16)       NOT NULL,
    name          VARBINARY(250)   NOT NULL,
    live_name     VARBINARY(250)   NULL, -- NULL when it was deleted
    version       BIGINT           NOT NULL,
    cron          VARBINARY(1000)  NOT NULL,
    zone          VARBINARY(1000)  NOT NULL,
    every_ns      BIGINT           NOT NULL,
    after_ns      BIGINT           NOT NULL,
    once_at       BIGINT           NOT NULL,
    kind          VARBINARY(250)   NOT NULL,
    grp           VARBINARY(250)   NOT NULL,
    payload       LONGBLOB         NULL,
    bucket        TINYINT UNSIGNED NOT NULL,
    overlap       TINYINT UNSIGNED NOT NULL,
    misfire       TINYINT UNSIGNED NOT NULL,
    max_retries   INT              NOT NULL,
    timeout       BIGINT           NOT NULL,
    retry_policy  BLOB             NOT NULL,
    owner_service VARBINARY(1000)  NOT NULL,
    labels        LONGBLOB         NOT NULL,
    anchor        BIGINT           NOT NULL,
    last_fire     BIGINT           NOT NULL,
    last_task     BINARY(16)       NULL,
    created_at    BIGINT           NOT NULL,
    updated_at    BIGINT           NOT NULL,
    deleted_at    BIGINT           NOT NULL,
    overlap_key   VARBINARY(1000)  NOT NULL, -- '' is one of its own
    misfire_grace BIGINT           NOT NULL,
    misfire_cap   INT              NOT NULL,
    jitter        BIGINT           NOT NULL,
    starts_at     BIGINT           NOT NULL,
    ends_at       BIGINT           NOT NULL,
    max_fires     BIGINT           NOT NULL,
    fires         BIGINT           NOT NULL, -- that were to run
    paused_at     BIGINT           NOT NULL,
    paused_until  BIGINT           NOT NULL,
    paused_by     BLOB             NOT NULL,
    pause_reason  BLOB             NOT NULL,
    skip_until    BIGINT           NOT NULL,
    skip_by       BLOB             NOT NULL,
    skip_reason   BLOB             NOT NULL,
    on_unknown    TINYINT UNSIGNED NOT NULL,
    max_lateness  BIGINT           NOT NULL,
    max_lifetime  BIGINT           NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY ax_jobs_name (live_name),
    KEY ax_jobs_updated (updated_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS ax_kinds (
    name         VARBINARY(250)   NOT NULL,
    timeout      BIGINT           NOT NULL,
    max_retries  INT              NOT NULL,
    retry_policy BLOB             NOT NULL,
    updated_at   BIGINT           NOT NULL,
    on_unknown   TINYINT UNSIGNED NOT NULL,
    max_lifetime BIGINT           NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

-- The installed fencing token of each partition.
CREATE TABLE IF NOT EXISTS ax_partitions (
    part         INT             NOT NULL,
    token        BIGINT          NOT NULL,
    holder       VARBINARY(1000) NOT NULL,
    installed_at BIGINT          NOT NULL,
    PRIMARY KEY (part)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS ax_leases (
    part     INT             NOT NULL,
    holder   VARBINARY(1000) NOT NULL, -- '' when it was released
    ends_at  BIGINT          NOT NULL,
    renewals BIGINT          NOT NULL, -- so that each renewal changes the row
    PRIMARY KEY (part)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS ax_executors (
    epoch         BIGINT          NOT NULL AUTO_INCREMENT,
    name          VARBINARY(1000) NOT NULL,
    instance      VARBINARY(1000) NOT NULL,
    grp           VARBINARY(1000) NOT NULL,
    slots         INT             NOT NULL,
    ends_at       BIGINT          NOT NULL,
    renewals      BIGINT          NOT NULL,
    registered_at BIGINT          NOT NULL,
    retired_at    BIGINT          NOT NULL,
    PRIMARY KEY (epoch),
    KEY ax_executors_member (retired_at, epoch)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;
