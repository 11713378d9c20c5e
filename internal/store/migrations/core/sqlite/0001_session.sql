-- +goose Up
-- Times are nanoseconds of the store's own clock, which no clock setting moves
-- while the machine runs; 0 is "long ago".
CREATE TABLE store_clock (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    boot      TEXT    NOT NULL, -- which start of the machine offset_ns belongs to
    offset_ns INTEGER NOT NULL  -- store clock = boot clock + offset
);
CREATE TABLE session (
    base_url         TEXT    NOT NULL,
    account          TEXT    NOT NULL,
    incarnation      TEXT    NOT NULL, -- random; (incarnation, gen) names a pair
    gen              INTEGER NOT NULL DEFAULT 0,
    pair_state       TEXT    NOT NULL DEFAULT 'none',
    sealed_access    BLOB,
    sealed_refresh   BLOB,
    access_ttl_ns    INTEGER NOT NULL DEFAULT 0,
    refresh_ttl_ns   INTEGER NOT NULL DEFAULT 0,
    access_until_ns  INTEGER NOT NULL DEFAULT 0,
    refresh_until_ns INTEGER NOT NULL DEFAULT 0,
    installed_ns     INTEGER NOT NULL DEFAULT 0,
    made_by          TEXT    NOT NULL DEFAULT '', -- login or refresh
    installer        TEXT    NOT NULL DEFAULT '{}', -- JSON: process
    fence            INTEGER NOT NULL DEFAULT 0,
    owner            TEXT    NOT NULL DEFAULT '{}', -- JSON: process that holds or held the lease
    phase            TEXT    NOT NULL DEFAULT 'free',
    has_lock         INTEGER NOT NULL DEFAULT 0,
    lease_boot       TEXT    NOT NULL DEFAULT '', -- a lease ends with the machine's run
    lease_for_ns     INTEGER NOT NULL DEFAULT 0,
    lease_until_ns   INTEGER NOT NULL DEFAULT 0,
    fails            INTEGER NOT NULL DEFAULT 0,
    login_from_ns    INTEGER NOT NULL DEFAULT 0,
    refresh_from_ns  INTEGER NOT NULL DEFAULT 0,
    premature        TEXT    NOT NULL DEFAULT '[]', -- JSON
    blocks           TEXT    NOT NULL DEFAULT '[]', -- JSON: fingerprints of refused passwords
    event_seq        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (base_url, account)
) WITHOUT ROWID;
CREATE TABLE session_event (
    base_url TEXT    NOT NULL,
    account  TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    body     TEXT    NOT NULL, -- JSON; no secrets
    PRIMARY KEY (base_url, account, seq)
) WITHOUT ROWID;
CREATE TABLE session_count (
    base_url TEXT    NOT NULL,
    account  TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    n        INTEGER NOT NULL,
    PRIMARY KEY (base_url, account, kind)
) WITHOUT ROWID;
CREATE TABLE session_instance (
    base_url   TEXT    NOT NULL,
    account    TEXT    NOT NULL,
    owner_id   TEXT    NOT NULL,
    owner      TEXT    NOT NULL, -- JSON: process
    started_ns INTEGER NOT NULL,
    seen_ns    INTEGER NOT NULL,
    PRIMARY KEY (base_url, account, owner_id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE session_instance;
DROP TABLE session_count;
DROP TABLE session_event;
DROP TABLE session;
DROP TABLE store_clock;
