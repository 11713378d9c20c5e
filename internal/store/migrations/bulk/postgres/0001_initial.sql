-- +goose Up
-- One machine account of one service. All rows of the index belong to one.
CREATE TABLE index_scope (
    n        BIGINT PRIMARY KEY,
    base_url TEXT COLLATE "C" NOT NULL,
    account  TEXT COLLATE "C" NOT NULL,
    UNIQUE (base_url, account)
);

-- Small facts of a scope: version, progress of the sync, leases.
CREATE TABLE index_meta (
    scope    BIGINT NOT NULL,
    name     TEXT COLLATE "C"    NOT NULL,
    value    TEXT COLLATE "C"    NOT NULL,
    owner    TEXT COLLATE "C"    NOT NULL DEFAULT '', -- leases
    until_us BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, name)
);

-- Every combination of codes and flags that occurs, with how often and the sum
-- of its amounts: units = hi * 10^9 + lo, and nanos; amounts of 10^18 and more
-- are summed from their keys (flag).
CREATE TABLE index_kind (
    n          BIGINT PRIMARY KEY,
    scope      BIGINT NOT NULL,
    status     TEXT COLLATE "C"    NOT NULL,
    type       TEXT COLLATE "C"    NOT NULL,
    payment    TEXT COLLATE "C"    NOT NULL,
    currency   TEXT COLLATE "C"    NOT NULL,
    tocurrency TEXT COLLATE "C"    NOT NULL,
    flags      BIGINT NOT NULL,
    ops        BIGINT NOT NULL DEFAULT 0, -- how many
    hi         BIGINT NOT NULL DEFAULT 0,
    lo         BIGINT NOT NULL DEFAULT 0,
    nanos      BIGINT NOT NULL DEFAULT 0,
    UNIQUE (scope, status, type, payment, currency, tocurrency, flags)
);

-- Customers and sides of operations, each distinct set of texts once.
CREATE TABLE index_party (
    n      BIGINT PRIMARY KEY,
    scope  BIGINT NOT NULL,
    digest TEXT COLLATE "C"    NOT NULL,
    id     TEXT COLLATE "C"    NOT NULL, -- customer: cuid
    name   TEXT COLLATE "C"    NOT NULL, -- as it came
    sort   TEXT COLLATE "C"    NOT NULL, -- folded name, cut
    body   TEXT COLLATE "C"    NOT NULL, -- folded texts
    ids    TEXT COLLATE "C"    NOT NULL, -- folded identifiers
    shown  TEXT COLLATE "C"    NOT NULL DEFAULT '', -- body and ids as the mask leaves them
    UNIQUE (scope, digest)
);
CREATE INDEX index_party_sort ON index_party (scope, sort, n);

CREATE TABLE index_op (
    n            BIGINT PRIMARY KEY,
    scope        BIGINT NOT NULL,
    kind         BIGINT NOT NULL,
    customer     BIGINT NOT NULL,
    source       BIGINT NOT NULL,
    destination  BIGINT NOT NULL,
    created_us   BIGINT NOT NULL,
    updated_us   BIGINT NOT NULL,
    updated_ns   BIGINT NOT NULL, -- below the µs
    hi           BIGINT NOT NULL,
    lo           BIGINT NOT NULL,
    nanos        BIGINT NOT NULL,
    docs         BIGINT NOT NULL, -- how many; -1: the service did not say
    seen_us      BIGINT NOT NULL, -- last confirmed
    changed_us   BIGINT NOT NULL, -- when this state was first seen here
    origin       BIGINT NOT NULL, -- list, read, hook
    doubt        BIGINT NOT NULL, -- 0: none; else reads owed so far + 1
    doubt_us     BIGINT NOT NULL, -- when the read is due
    digest       BIGINT NOT NULL, -- of the raw record
    amount_key   TEXT COLLATE "C"    NOT NULL,
    received_key TEXT COLLATE "C"    NOT NULL,
    fee_key      TEXT COLLATE "C"    NOT NULL,
    opid         TEXT COLLATE "C"    NOT NULL,
    opid_fold    TEXT COLLATE "C"    NOT NULL,
    reference    TEXT COLLATE "C"    NOT NULL, -- folded, as are the next two
    comment      TEXT COLLATE "C"    NOT NULL,
    doc_text     TEXT COLLATE "C"    NOT NULL,
    hidden       BIGINT NOT NULL DEFAULT 0 -- in which of the three texts the mask hides something
);
CREATE UNIQUE INDEX index_op_id       ON index_op (scope, opid_fold, opid);
CREATE INDEX index_op_kind            ON index_op (kind, created_us, n);
CREATE INDEX index_op_customer        ON index_op (customer, created_us, n);
CREATE INDEX index_op_source          ON index_op (source, created_us, n);
CREATE INDEX index_op_destination     ON index_op (destination, created_us, n);
CREATE INDEX index_op_created         ON index_op (scope, created_us, n);
CREATE INDEX index_op_updated         ON index_op (scope, updated_us, n);
CREATE INDEX index_op_amount          ON index_op (scope, amount_key, n);
CREATE INDEX index_op_received        ON index_op (scope, received_key, n);
CREATE INDEX index_op_fee             ON index_op (scope, fee_key, n);
CREATE INDEX index_op_reference       ON index_op (scope, substr(reference, 1, 100), n);
CREATE INDEX index_op_doubt           ON index_op (scope, doubt_us) WHERE doubt > 0;
CREATE INDEX index_op_docs            ON index_op (scope, docs);

-- The record as it came, apart from what is scanned.
CREATE TABLE index_raw (
    n    BIGINT PRIMARY KEY,
    body BYTEA NOT NULL
);

-- Sums by day of creation ('day', days since 1970) and by customer ('customer', party).
CREATE TABLE index_sum (
    scope    BIGINT NOT NULL,
    dim      TEXT COLLATE "C"    NOT NULL,
    item     BIGINT NOT NULL,
    currency TEXT COLLATE "C"    NOT NULL,
    ops      BIGINT NOT NULL, -- how many
    hi       BIGINT NOT NULL,
    lo       BIGINT NOT NULL,
    nanos    BIGINT NOT NULL,
    PRIMARY KEY (scope, dim, item, currency)
);

-- Substrings by three letters where the extension can be had; without it they
-- are looked for row by row.
-- +goose StatementBegin
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX index_op_words ON index_op USING gin ((reference || comment || doc_text) gin_trgm_ops);
    CREATE INDEX index_party_words ON index_party USING gin ((body || ids) gin_trgm_ops);
EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'pg_trgm is not available: %', SQLERRM;
END $$;
-- +goose StatementEnd

-- When each operation was last seen at the service, apart from the wide rows: a
-- page that only confirms what is known then writes a few narrow rows.
CREATE TABLE index_sight (
    n        BIGINT PRIMARY KEY,        -- of index_op
    scope    BIGINT NOT NULL,
    seen_us  BIGINT NOT NULL,           -- the store's time at which the request that brought it was sent; 0: not known
    asked_us BIGINT NOT NULL DEFAULT 0  -- when it was last read alone because a pass had not shown it
);
CREATE INDEX index_sight_seen ON index_sight (scope, seen_us);

-- Every row has its sight, whichever program writes it. index_op.seen_us is the
-- sight with which the row was written.
-- +goose StatementBegin
CREATE FUNCTION index_op_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO index_sight (n, scope, seen_us) SELECT n, scope, seen_us FROM added;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION index_op_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM index_sight s USING removed r WHERE s.n = r.n;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION index_op_confirmed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE index_sight SET seen_us = NEW.seen_us WHERE n = NEW.n;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER index_op_added AFTER INSERT ON index_op
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION index_op_added();
CREATE TRIGGER index_op_removed AFTER DELETE ON index_op
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION index_op_removed();
CREATE TRIGGER index_op_confirmed AFTER UPDATE OF seen_us ON index_op
    FOR EACH ROW EXECUTE FUNCTION index_op_confirmed();

-- Operations that are not in the list: gone at the service, or announced by a
-- webhook and not read yet.
CREATE TABLE index_absent (
    scope      BIGINT NOT NULL,
    opid       TEXT   NOT NULL,
    gone_us    BIGINT NOT NULL, -- the store's time at which the request was sent that proved it; 0: announced only
    seen_us    BIGINT NOT NULL,
    changed_us BIGINT NOT NULL,
    origin     INTEGER NOT NULL,
    due_us     BIGINT NOT NULL, -- when a read is due; 0: none
    body       BYTEA  NOT NULL, -- the last state; empty: announced only
    PRIMARY KEY (scope, opid)
);
CREATE INDEX index_absent_gone ON index_absent (gone_us) WHERE gone_us > 0;

-- States that were replaced by newer ones; the present state is in index_op.
CREATE TABLE index_history (
    scope      BIGINT NOT NULL,
    opid       TEXT COLLATE "C"    NOT NULL,
    seq        BIGINT NOT NULL, -- from 1, per operation
    at_us      BIGINT NOT NULL, -- when this state was first seen here
    updated_us BIGINT NOT NULL, -- the service's updatedAt
    origin     BIGINT NOT NULL, -- list, read, hook
    ended_us   BIGINT NOT NULL, -- when the next state was first seen here
    body       BYTEA    NOT NULL, -- the record as it came
    PRIMARY KEY (scope, opid, seq)
);
CREATE INDEX index_history_ended ON index_history (ended_us);

-- What each person has seen of an operation; opid '' is the list as a whole.
CREATE TABLE index_look (
    scope  BIGINT NOT NULL,
    person TEXT COLLATE "C"    NOT NULL,
    opid   TEXT COLLATE "C"    NOT NULL,
    at_us  BIGINT NOT NULL,
    PRIMARY KEY (scope, person, opid)
);

-- The machine accounts whose webhooks are kept, each apart from the others.
CREATE TABLE hook_scope (
    n        BIGINT PRIMARY KEY,
    base_url TEXT   NOT NULL,
    account  TEXT   NOT NULL,
    UNIQUE (base_url, account)
);

CREATE TABLE hook (
    seq           BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- order of commit, with gaps
    hook_key      TEXT    NOT NULL, -- hook_id, or what stands for it
    hook_id       TEXT    NOT NULL,        -- '' when there is none to trust
    hook_type     BIGINT  NOT NULL,
    object        TEXT    NOT NULL,
    object_id     TEXT    NOT NULL,
    cuid          TEXT    NOT NULL,
    raw           BYTEA   NOT NULL,        -- as it came, to the byte
    body_sha256   BYTEA   NOT NULL,
    received_us   BIGINT  NOT NULL,        -- Unix time in µs
    source        TEXT    NOT NULL,
    verifier      TEXT    NOT NULL,
    authenticated BIGINT  NOT NULL,
    bound         BIGINT  NOT NULL,        -- the authentication covers the body
    status        TEXT    NOT NULL,        -- verified, unverified, quarantined, conflict
    reason        TEXT    NOT NULL,
    detail        TEXT    NOT NULL,
    deliveries    BIGINT  NOT NULL DEFAULT 1,
    last_us       BIGINT  NOT NULL,
    scope         BIGINT  NOT NULL DEFAULT 0,
    UNIQUE (scope, hook_key)
);
CREATE INDEX hook_object ON hook (scope, object_id, seq);
CREATE INDEX hook_conflict ON hook (scope, hook_id) WHERE status = 'conflict';
CREATE INDEX hook_count ON hook (scope, hook_type, status, seq);
CREATE INDEX hook_order ON hook (scope, seq);
CREATE INDEX hook_last ON hook (last_us);

CREATE TABLE hook_attempt (
    id         BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hook_key   TEXT    NOT NULL,
    act        TEXT    NOT NULL, -- replay, forward, local
    target     TEXT    NOT NULL, -- scheme, host and path only
    at_us      BIGINT  NOT NULL,
    status     BIGINT  NOT NULL, -- HTTP, 0 when there was no answer
    latency_us BIGINT  NOT NULL,
    error      TEXT    NOT NULL,
    scope      BIGINT  NOT NULL DEFAULT 0
);
CREATE INDEX hook_attempt_key ON hook_attempt (scope, hook_key, id);

-- one row for each state of an operation in which a code and a word were seen together
CREATE TABLE hook_code (
    field   TEXT    NOT NULL, -- type, status, payment_type
    code    BIGINT  NOT NULL,
    word    TEXT    NOT NULL,
    opid    TEXT    NOT NULL,
    at_s    BIGINT  NOT NULL, -- the operation's updated_at
    at_ns   BIGINT  NOT NULL,
    exact   BIGINT  NOT NULL,
    scope   BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, field, code, word, opid, at_s, at_ns)
);

-- How far the events of a scope were merged into the index, and those that could
-- not be: they are tried again. All up to seq are in the index or in hook_retry.
CREATE TABLE hook_merged (
    scope BIGINT PRIMARY KEY,
    seq   BIGINT NOT NULL
);

CREATE TABLE hook_retry (
    scope    BIGINT NOT NULL,
    hook_key TEXT   NOT NULL,
    tries    BIGINT NOT NULL,
    reason   TEXT   NOT NULL, -- of the last try, a sentence
    first_us BIGINT NOT NULL, -- Unix time in µs
    last_us  BIGINT NOT NULL,
    next_us  BIGINT NOT NULL,
    PRIMARY KEY (scope, hook_key)
);

-- Deliveries that were not accepted: how many by reason, and the last ones.
CREATE TABLE hook_rejected_count (
    scope    BIGINT NOT NULL,
    reason   TEXT   NOT NULL, -- one of a few words
    n        BIGINT NOT NULL,
    first_us BIGINT NOT NULL,
    last_us  BIGINT NOT NULL,
    detail   TEXT   NOT NULL, -- of the last one
    source   TEXT   NOT NULL,
    PRIMARY KEY (scope, reason)
);

CREATE TABLE hook_rejected (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope     BIGINT NOT NULL,
    at_us     BIGINT NOT NULL,
    status    BIGINT NOT NULL, -- the answer, HTTP
    reason    TEXT   NOT NULL,
    detail    TEXT   NOT NULL,
    source    TEXT   NOT NULL,
    algorithm TEXT   NOT NULL, -- of a JWT
    claims    TEXT   NOT NULL, -- names, separated by a space
    request   TEXT   NOT NULL, -- method and path
    header    TEXT   NOT NULL, -- JSON; values that may be secret are not in it
    body      BYTEA   NOT NULL, -- its beginning
    size      BIGINT NOT NULL  -- of the whole body as far as it was read
);
CREATE INDEX hook_rejected_order ON hook_rejected (scope, id);
CREATE INDEX hook_rejected_age ON hook_rejected (at_us);

-- The body that a token came with first, for tokens that do not cover it.
CREATE TABLE hook_token (
    scope       BIGINT NOT NULL,
    token       BYTEA   NOT NULL, -- SHA-256
    body_sha256 BYTEA   NOT NULL,
    until_us    BIGINT NOT NULL, -- then it may be forgotten
    PRIMARY KEY (scope, token)
);
CREATE INDEX hook_token_until ON hook_token (until_us);
CREATE INDEX hook_token_body ON hook_token (scope, body_sha256);
