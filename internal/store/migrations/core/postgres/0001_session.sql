-- +goose Up
-- Times are nanoseconds since 1970 by the database's clock; 0 is "long ago".
CREATE TABLE session (
    base_url         TEXT    NOT NULL,
    account          TEXT    NOT NULL,
    incarnation      TEXT    NOT NULL, -- random; (incarnation, gen) names a pair
    gen              BIGINT  NOT NULL DEFAULT 0,
    pair_state       TEXT    NOT NULL DEFAULT 'none',
    sealed_access    BYTEA,
    sealed_refresh   BYTEA,
    access_ttl_ns    BIGINT  NOT NULL DEFAULT 0,
    refresh_ttl_ns   BIGINT  NOT NULL DEFAULT 0,
    access_until_ns  BIGINT  NOT NULL DEFAULT 0,
    refresh_until_ns BIGINT  NOT NULL DEFAULT 0,
    installed_ns     BIGINT  NOT NULL DEFAULT 0,
    made_by          TEXT    NOT NULL DEFAULT '', -- login or refresh
    installer        TEXT    NOT NULL DEFAULT '{}', -- JSON: process
    fence            BIGINT  NOT NULL DEFAULT 0,
    owner            TEXT    NOT NULL DEFAULT '{}', -- JSON: process that holds or held the lease
    phase            TEXT    NOT NULL DEFAULT 'free',
    has_lock         BIGINT  NOT NULL DEFAULT 0,
    lease_boot       TEXT    NOT NULL DEFAULT '', -- SQLite only
    lease_for_ns     BIGINT  NOT NULL DEFAULT 0,
    lease_until_ns   BIGINT  NOT NULL DEFAULT 0,
    fails            BIGINT  NOT NULL DEFAULT 0,
    login_from_ns    BIGINT  NOT NULL DEFAULT 0,
    refresh_from_ns  BIGINT  NOT NULL DEFAULT 0,
    premature        TEXT    NOT NULL DEFAULT '[]', -- JSON
    blocks           TEXT    NOT NULL DEFAULT '[]', -- JSON: fingerprints of refused passwords
    event_seq        BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (base_url, account)
);
CREATE TABLE session_event (
    base_url TEXT    NOT NULL,
    account  TEXT    NOT NULL,
    seq      BIGINT  NOT NULL,
    body     TEXT    NOT NULL, -- JSON; no secrets
    PRIMARY KEY (base_url, account, seq)
);
CREATE TABLE session_count (
    base_url TEXT    NOT NULL,
    account  TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    n        BIGINT  NOT NULL,
    PRIMARY KEY (base_url, account, kind)
);
CREATE TABLE session_instance (
    base_url   TEXT    NOT NULL,
    account    TEXT    NOT NULL,
    owner_id   TEXT    NOT NULL,
    owner      TEXT    NOT NULL, -- JSON: process
    started_ns BIGINT  NOT NULL,
    seen_ns    BIGINT  NOT NULL,
    PRIMARY KEY (base_url, account, owner_id)
);

-- +goose Down
DROP TABLE session_instance;
DROP TABLE session_count;
DROP TABLE session_event;
DROP TABLE session;
