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
    routes           TEXT    NOT NULL DEFAULT '[]', -- JSON: which routes accepted the pair, and which refuse what others accept
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

CREATE TABLE limit_ring (
    base_url      TEXT    NOT NULL,
    account       TEXT    NOT NULL,
    class         TEXT    NOT NULL,
    not_before_ns INTEGER NOT NULL DEFAULT 0,
    trimmed_ns    INTEGER NOT NULL DEFAULT 0, -- when old slots were last dropped
    PRIMARY KEY (base_url, account, class)
) WITHOUT ROWID;
CREATE TABLE limit_slot (
    base_url   TEXT    NOT NULL,
    account    TEXT    NOT NULL,
    class      TEXT    NOT NULL,
    at_ns      INTEGER NOT NULL, -- store clock
    ticket     TEXT    NOT NULL,
    background INTEGER NOT NULL,
    over       INTEGER NOT NULL,
    who        TEXT    NOT NULL DEFAULT '', -- who makes the call, for people
    PRIMARY KEY (base_url, account, class, at_ns, ticket)
) WITHOUT ROWID;
CREATE TABLE limit_throttle (
    base_url TEXT    NOT NULL,
    account  TEXT    NOT NULL,
    class    TEXT    NOT NULL,
    at_ns    INTEGER NOT NULL
);
CREATE INDEX limit_throttle_at ON limit_throttle (base_url, account, class, at_ns);

CREATE TABLE audit_head (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    chain TEXT    NOT NULL, -- name of the log: a UUID
    n     INTEGER NOT NULL, -- number of records
    hash  TEXT    NOT NULL, -- of the last record
    at_us INTEGER NOT NULL  -- of the last record, Unix time in µs
);

CREATE TABLE audit (
    seq       INTEGER PRIMARY KEY,
    uid       TEXT    NOT NULL UNIQUE, -- UUID version 7
    at_us     INTEGER NOT NULL,        -- Unix time in µs
    event     TEXT    NOT NULL,
    phase     TEXT    NOT NULL,        -- intent, outcome, note
    ref       TEXT    NOT NULL,        -- outcome: uid of the intent
    boot      TEXT    NOT NULL,        -- process that wrote it
    actor     TEXT    NOT NULL,
    object    TEXT    NOT NULL,
    object_id TEXT    NOT NULL,
    item      TEXT    NOT NULL,
    bytes     BLOB    NOT NULL,        -- the record: exactly what hash is over
    hash      TEXT    NOT NULL
);
CREATE INDEX audit_actor ON audit (actor, seq);
CREATE INDEX audit_object ON audit (object_id, seq);
CREATE INDEX audit_item ON audit (item, seq) WHERE item <> '';
CREATE INDEX audit_event ON audit (event, seq);
CREATE INDEX audit_time ON audit (at_us);

-- Files with records that left the table audit, one after the other. No record goes
-- before its segment is here.
CREATE TABLE audit_segment (
    first  INTEGER PRIMARY KEY, -- records
    last   INTEGER NOT NULL,
    hash   TEXT   NOT NULL, -- of the last record
    at_us  INTEGER NOT NULL, -- of the last record
    file   TEXT   NOT NULL,
    folder TEXT   NOT NULL,
    host   TEXT   NOT NULL
);

-- Intents without an outcome. An index, not evidence: it can be made again.
CREATE TABLE audit_open (
    uid TEXT    PRIMARY KEY,
    seq INTEGER NOT NULL
);

-- The triggers guard against mistakes, not against the owner of the file.
-- +goose StatementBegin
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
WHEN OLD.seq > (SELECT COALESCE(MAX(last), 0) FROM audit_segment)
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_segment_follows BEFORE INSERT ON audit_segment
WHEN NEW.first <> (SELECT COALESCE(MAX(last), 0) + 1 FROM audit_segment) OR NEW.last < NEW.first
    OR NEW.hash IS NOT (SELECT hash FROM audit WHERE seq = NEW.last)
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_segment_no_update BEFORE UPDATE ON audit_segment
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_segment_stays BEFORE DELETE ON audit_segment
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
-- An INSERT OR REPLACE would delete without a DELETE.
-- +goose StatementBegin
CREATE TRIGGER audit_in_order BEFORE INSERT ON audit
WHEN NEW.seq IS NOT (SELECT n + 1 FROM audit_head) OR EXISTS (SELECT 1 FROM audit WHERE uid = NEW.uid)
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_head_forward BEFORE UPDATE ON audit_head
WHEN NEW.n <> OLD.n + 1 OR NEW.chain <> OLD.chain
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_head_stays BEFORE DELETE ON audit_head
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_head_once BEFORE INSERT ON audit_head
WHEN EXISTS (SELECT 1 FROM audit_head)
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd

CREATE TABLE approval (
    scope      TEXT NOT NULL, -- base_url and account
    id         TEXT NOT NULL, -- random
    requester  TEXT NOT NULL, -- name, lower case
    target     TEXT NOT NULL, -- what the act is about, without the content
    state      TEXT NOT NULL,
    created_us INTEGER NOT NULL, -- Unix time in µs
    expires_us INTEGER NOT NULL,
    body       TEXT NOT NULL, -- the whole request, JSON; no secrets
    PRIMARY KEY (scope, id)
);
CREATE INDEX approval_target ON approval (scope, requester, target, created_us);
CREATE INDEX approval_newest ON approval (scope, created_us);
CREATE INDEX approval_ended ON approval (created_us) WHERE state NOT IN ('open', 'approved');
CREATE INDEX approval_live ON approval (scope, expires_us) WHERE state IN ('open', 'approved');

-- One row: grows with each change, and lines up the writers.
CREATE TABLE approval_version (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    n   INTEGER NOT NULL
);
INSERT INTO approval_version (one, n) VALUES (1, 0);

CREATE TABLE job (
    id         TEXT    PRIMARY KEY, -- random
    kind       TEXT    NOT NULL,    -- replace_document, …
    context    TEXT    NOT NULL,    -- base_url and account: whose job it is
    step       TEXT    NOT NULL,
    body       TEXT    NOT NULL,    -- JSON; no secrets
    owner      TEXT    NOT NULL,    -- person who started it
    created_us INTEGER NOT NULL,    -- Unix time in µs
    updated_us INTEGER NOT NULL,
    done       INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX job_open ON job (context, done, created_us);
CREATE INDEX job_ended ON job (updated_us) WHERE done = 1;

CREATE TABLE presence (
    console   TEXT PRIMARY KEY, -- one console of a person
    scope     TEXT NOT NULL,    -- base_url and account
    object    TEXT NOT NULL,
    object_id TEXT NOT NULL,
    person    TEXT NOT NULL,
    host      TEXT NOT NULL,
    since_us  INTEGER NOT NULL, -- Unix time in µs
    seen_us   INTEGER NOT NULL, -- last sign of life
    dialog    INTEGER NOT NULL  -- 1: a question about a write is open
);
CREATE INDEX presence_object ON presence (scope, object, object_id);

CREATE TABLE journey (
    context    TEXT    NOT NULL, -- base_url and account
    cuid       TEXT    NOT NULL,
    body       TEXT    NOT NULL, -- JSON; no secrets
    unfinished INTEGER NOT NULL,
    updated_us INTEGER NOT NULL, -- Unix time in µs
    PRIMARY KEY (context, cuid)
);
CREATE INDEX journey_open ON journey (context, unfinished, updated_us);

CREATE TABLE unsettled (
    ref        TEXT    PRIMARY KEY, -- uid of the intent in the audit trail
    context    TEXT    NOT NULL,    -- base_url and account: whose write it is
    object_id  TEXT    NOT NULL,    -- opid, cuid
    state      TEXT    NOT NULL,    -- sending, unknown, not_seen
    body       TEXT    NOT NULL,    -- JSON: what it is and what would prove it; no secrets
    sent_us    INTEGER NOT NULL,     -- the store's time, as are all of these
    looked_us  INTEGER NOT NULL DEFAULT 0,
    next_us    INTEGER NOT NULL,
    looks      INTEGER NOT NULL DEFAULT 0,
    claim      TEXT    NOT NULL DEFAULT '', -- what no other write may do while this one is in doubt, taken as "sending" is stored
    until_us   INTEGER NOT NULL DEFAULT 0   -- from when on it is looked for no longer
);
CREATE INDEX unsettled_next ON unsettled (context, next_us);
CREATE UNIQUE INDEX unsettled_claim ON unsettled (context, claim) WHERE claim <> '';

-- The Merkle tree over the records (RFC 6962), kept so that proofs need not read
-- them all. An index, not evidence: it can be made again from the records.
CREATE TABLE audit_tree (
    seq    INTEGER PRIMARY KEY,
    hashes BLOB NOT NULL -- of the subtrees that this record completes, smallest first, 32 bytes each
);

-- The newest checkpoint of each key that signs, as it was signed.
CREATE TABLE audit_signed (
    key  TEXT    PRIMARY KEY, -- fingerprint
    n    INTEGER NOT NULL,    -- records it covers
    note TEXT    NOT NULL
);

-- What scripts borrowed the session through each proxy. A tally, not evidence: the
-- audit trail holds that.
CREATE TABLE borrower (
    scope   TEXT NOT NULL, -- base_url and account
    process TEXT NOT NULL, -- of the proxy: random
    name    TEXT NOT NULL,
    body    TEXT NOT NULL, -- JSON: counts; no secrets
    seen_us INTEGER NOT NULL, -- Unix time in µs, the store's
    PRIMARY KEY (scope, process, name)
);

-- Work that one process at a time does for all, now and then.
CREATE TABLE turn (
    name     TEXT   PRIMARY KEY,
    owner    TEXT   NOT NULL, -- of the process that does it; '' for none
    until_us INTEGER NOT NULL, -- then another one may take over; the store's time, as the next
    done_us  INTEGER NOT NULL  -- when it was last done
);

-- What real calls have shown last, for all processes.
CREATE TABLE answer (
    scope   TEXT    NOT NULL, -- base_url and account
    class   TEXT    NOT NULL,
    route   TEXT    NOT NULL,
    body    TEXT    NOT NULL, -- JSON: answers.Last; no secrets
    seen_us INTEGER NOT NULL, -- of the newest outcome, Unix time in µs, the store's
    PRIMARY KEY (scope, class, route)
);

-- The rules of [notify.NAME]: what they have noticed, and their silence.
CREATE TABLE notify_rule (
    scope   TEXT NOT NULL, -- base_url and account
    name    TEXT NOT NULL,
    state   TEXT NOT NULL, -- JSON: notify.State; no secrets
    silence TEXT NOT NULL, -- JSON: notify.Silence
    PRIMARY KEY (scope, name)
);

-- Their notices. Times are Unix times in µs, the store's.
CREATE TABLE notice (
    scope      TEXT    NOT NULL,
    id         TEXT    NOT NULL, -- the same on every host
    rule       TEXT    NOT NULL,
    phase      TEXT    NOT NULL, -- waiting, sending, sent, failed, silenced
    body       TEXT    NOT NULL, -- JSON: notify.Notice; no secrets
    owner      TEXT    NOT NULL DEFAULT '', -- process that sends it
    attempts   INTEGER NOT NULL DEFAULT 0,
    error      TEXT    NOT NULL DEFAULT '', -- of the last attempt
    seq        INTEGER NOT NULL, -- within its rule
    next_us    INTEGER NOT NULL DEFAULT 0, -- of the next attempt
    until_us   INTEGER NOT NULL DEFAULT 0, -- end of the claim
    ended_us   INTEGER NOT NULL DEFAULT 0, -- sent, failed, silenced; 0: open
    PRIMARY KEY (scope, id)
);
CREATE UNIQUE INDEX notice_order ON notice (scope, rule, seq);
CREATE INDEX notice_open ON notice (scope, rule, seq) WHERE ended_us = 0;
CREATE INDEX notice_ended ON notice (ended_us) WHERE ended_us > 0;

-- What one process knows of its host and the others cannot see: ports that it could not open, the last check of the
-- audit trail, the check value of the key that seals tokens (scope '').
CREATE TABLE observation (
    scope   TEXT    NOT NULL, -- base_url and account
    part    TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    body    TEXT    NOT NULL, -- JSON; no secrets
    seen_us INTEGER NOT NULL, -- Unix time in µs, the store's
    PRIMARY KEY (scope, part, name)
);
