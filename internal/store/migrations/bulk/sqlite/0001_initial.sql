-- +goose Up
-- One machine account of one service. All rows of the index belong to one.
CREATE TABLE index_scope (
    n        INTEGER PRIMARY KEY,
    base_url TEXT NOT NULL,
    account  TEXT NOT NULL,
    UNIQUE (base_url, account)
);

-- Small facts of a scope: version, progress of the sync, leases.
CREATE TABLE index_meta (
    scope    INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    value    TEXT    NOT NULL,
    owner    TEXT    NOT NULL DEFAULT '', -- leases
    until_us INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, name)
) WITHOUT ROWID;

-- Every combination of codes and flags that occurs, with how often and the sum
-- of its amounts: units = hi * 10^9 + lo, and nanos; amounts of 10^18 and more
-- are summed from their keys (flag).
CREATE TABLE index_kind (
    n          INTEGER PRIMARY KEY,
    scope      INTEGER NOT NULL,
    status     TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    payment    TEXT    NOT NULL,
    currency   TEXT    NOT NULL,
    tocurrency TEXT    NOT NULL,
    flags      INTEGER NOT NULL,
    ops        INTEGER NOT NULL DEFAULT 0, -- how many
    hi         INTEGER NOT NULL DEFAULT 0,
    lo         INTEGER NOT NULL DEFAULT 0,
    nanos      INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope, status, type, payment, currency, tocurrency, flags)
);

-- Customers and sides of operations, each distinct set of texts once.
CREATE TABLE index_party (
    n      INTEGER PRIMARY KEY,
    scope  INTEGER NOT NULL,
    digest TEXT    NOT NULL,
    id     TEXT    NOT NULL, -- customer: cuid
    name   TEXT    NOT NULL, -- as it came
    sort   TEXT    NOT NULL, -- folded name, cut
    body   TEXT    NOT NULL, -- folded texts
    ids    TEXT    NOT NULL, -- folded identifiers
    shown  TEXT    NOT NULL DEFAULT '', -- body and ids as the mask leaves them
    UNIQUE (scope, digest)
);
CREATE INDEX index_party_sort ON index_party (scope, sort);

CREATE TABLE index_op (
    n            INTEGER PRIMARY KEY,
    scope        INTEGER NOT NULL,
    kind         INTEGER NOT NULL,
    customer     INTEGER NOT NULL,
    source       INTEGER NOT NULL,
    destination  INTEGER NOT NULL,
    created_us   INTEGER NOT NULL,
    updated_us   INTEGER NOT NULL,
    updated_ns   INTEGER NOT NULL, -- below the µs
    hi           INTEGER NOT NULL,
    lo           INTEGER NOT NULL,
    nanos        INTEGER NOT NULL,
    docs         INTEGER NOT NULL, -- how many; -1: the service did not say
    seen_us      INTEGER NOT NULL, -- last confirmed
    changed_us   INTEGER NOT NULL, -- when this state was first seen here
    origin       INTEGER NOT NULL, -- list, read, hook
    doubt        INTEGER NOT NULL, -- 0: none; else reads owed so far + 1
    doubt_us     INTEGER NOT NULL, -- when the read is due
    digest       INTEGER NOT NULL, -- of the raw record
    amount_key   TEXT    NOT NULL,
    received_key TEXT    NOT NULL,
    fee_key      TEXT    NOT NULL,
    opid         TEXT    NOT NULL,
    opid_fold    TEXT    NOT NULL,
    reference    TEXT    NOT NULL, -- folded, as are the next two
    comment      TEXT    NOT NULL,
    doc_text     TEXT    NOT NULL,
    hidden       INTEGER NOT NULL DEFAULT 0 -- in which of the three texts the mask hides something
);
CREATE UNIQUE INDEX index_op_id       ON index_op (scope, opid_fold, opid);
CREATE INDEX index_op_kind            ON index_op (kind, created_us);
CREATE INDEX index_op_customer        ON index_op (customer, created_us);
CREATE INDEX index_op_source          ON index_op (source, created_us);
CREATE INDEX index_op_destination     ON index_op (destination, created_us);
CREATE INDEX index_op_created         ON index_op (scope, created_us);
CREATE INDEX index_op_updated         ON index_op (scope, updated_us);
CREATE INDEX index_op_amount          ON index_op (scope, amount_key);
CREATE INDEX index_op_received        ON index_op (scope, received_key);
CREATE INDEX index_op_fee             ON index_op (scope, fee_key);
CREATE INDEX index_op_reference       ON index_op (scope, substr(reference, 1, 100));
CREATE INDEX index_op_doubt           ON index_op (scope, doubt_us) WHERE doubt > 0;
CREATE INDEX index_op_docs            ON index_op (scope, docs);
-- All that a sum over a range of amounts asks for, in the order of its groups.
CREATE INDEX index_op_sums ON index_op (scope, kind, amount_key, hi, lo, nanos);

-- The record as it came, apart from what is scanned.
CREATE TABLE index_raw (
    n    INTEGER PRIMARY KEY,
    body BLOB NOT NULL
);

-- Sums by day of creation ('day', days since 1970) and by customer ('customer', party).
CREATE TABLE index_sum (
    scope    INTEGER NOT NULL,
    dim      TEXT    NOT NULL,
    item     INTEGER NOT NULL,
    currency TEXT    NOT NULL,
    ops      INTEGER NOT NULL, -- how many
    hi       INTEGER NOT NULL,
    lo       INTEGER NOT NULL,
    nanos    INTEGER NOT NULL,
    PRIMARY KEY (scope, dim, item, currency)
) WITHOUT ROWID;

-- Where three letters in a row occur; candidates only, the columns decide. The end
-- of a text counts as two letters, so that every one or two letters of it begin a
-- term; and the terms, to look them up.
CREATE VIRTUAL TABLE index_words USING fts5
    (body, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1', detail = none);
CREATE VIRTUAL TABLE index_party_words USING fts5
    (body, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1', detail = none);
CREATE VIRTUAL TABLE index_words_terms USING fts5vocab (index_words, row);
CREATE VIRTUAL TABLE index_party_words_terms USING fts5vocab (index_party_words, row);

-- When each operation was last seen at the service, apart from the wide rows: a
-- page that only confirms what is known then writes a few narrow rows.
CREATE TABLE index_sight (
    n        INTEGER PRIMARY KEY,        -- of index_op
    scope    INTEGER NOT NULL,
    seen_us  INTEGER NOT NULL,           -- the store's time at which the request that brought it was sent; 0: not known
    asked_us INTEGER NOT NULL DEFAULT 0  -- when it was last read alone because a pass had not shown it
);
CREATE INDEX index_sight_seen ON index_sight (scope, seen_us);

-- Every row has its sight, whichever program writes it. index_op.seen_us is the
-- sight with which the row was written.
-- +goose StatementBegin
CREATE TRIGGER index_op_added AFTER INSERT ON index_op BEGIN
    INSERT INTO index_sight (n, scope, seen_us) VALUES (new.n, new.scope, new.seen_us);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER index_op_removed AFTER DELETE ON index_op BEGIN
    DELETE FROM index_sight WHERE n = old.n;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER index_op_confirmed AFTER UPDATE OF seen_us ON index_op BEGIN
    UPDATE index_sight SET seen_us = new.seen_us WHERE n = new.n;
END;
-- +goose StatementEnd

-- Operations that are not in the list: gone at the service, or announced by a
-- webhook and not read yet.
CREATE TABLE index_absent (
    scope      INTEGER NOT NULL,
    opid       TEXT    NOT NULL,
    gone_us    INTEGER NOT NULL, -- the store's time at which the request was sent that proved it; 0: announced only
    seen_us    INTEGER NOT NULL,
    changed_us INTEGER NOT NULL,
    origin     INTEGER NOT NULL,
    due_us     INTEGER NOT NULL, -- when a read is due; 0: none
    body       BLOB    NOT NULL, -- the last state; empty: announced only
    PRIMARY KEY (scope, opid)
) WITHOUT ROWID;
CREATE INDEX index_absent_gone ON index_absent (gone_us) WHERE gone_us > 0;

-- States that were replaced by newer ones; the present state is in index_op.
CREATE TABLE index_history (
    scope      INTEGER NOT NULL,
    opid       TEXT    NOT NULL,
    seq        INTEGER NOT NULL, -- from 1, per operation
    at_us      INTEGER NOT NULL, -- when this state was first seen here
    updated_us INTEGER NOT NULL, -- the service's updatedAt
    origin     INTEGER NOT NULL, -- list, read, hook
    ended_us   INTEGER NOT NULL, -- when the next state was first seen here
    body       BLOB    NOT NULL, -- the record as it came
    PRIMARY KEY (scope, opid, seq)
) WITHOUT ROWID;
CREATE INDEX index_history_ended ON index_history (ended_us);

-- What each person has seen of an operation; opid '' is the list as a whole.
CREATE TABLE index_look (
    scope  INTEGER NOT NULL,
    person TEXT    NOT NULL,
    opid   TEXT    NOT NULL,
    at_us  INTEGER NOT NULL,
    PRIMARY KEY (scope, person, opid)
) WITHOUT ROWID;

-- The machine accounts whose webhooks are kept, each apart from the others.
CREATE TABLE hook_scope (
    n        INTEGER PRIMARY KEY,
    base_url TEXT   NOT NULL,
    account  TEXT   NOT NULL,
    UNIQUE (base_url, account)
);

CREATE TABLE hook (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT, -- order of commit; never used twice
    scope         INTEGER NOT NULL,
    hook_key      TEXT    NOT NULL,        -- hook_id, or what stands for it
    hook_id       TEXT    NOT NULL,        -- '' when there is none to trust
    hook_type     INTEGER NOT NULL,
    object        TEXT    NOT NULL,
    object_id     TEXT    NOT NULL,
    cuid          TEXT    NOT NULL,
    raw           BLOB    NOT NULL,        -- as it came, to the byte
    body_sha256   BLOB    NOT NULL,
    received_us   INTEGER NOT NULL,        -- Unix time in µs
    source        TEXT    NOT NULL,
    verifier      TEXT    NOT NULL,
    authenticated INTEGER NOT NULL,
    bound         INTEGER NOT NULL,        -- the authentication covers the body
    status        TEXT    NOT NULL,        -- verified, unverified, quarantined, conflict
    reason        TEXT    NOT NULL,
    detail        TEXT    NOT NULL,
    deliveries    INTEGER NOT NULL DEFAULT 1,
    last_us       INTEGER NOT NULL,
    UNIQUE (scope, hook_key)
);
CREATE INDEX hook_object ON hook (scope, object_id, seq);
CREATE INDEX hook_conflict ON hook (scope, hook_id) WHERE status = 'conflict';
CREATE INDEX hook_count ON hook (scope, hook_type, status, seq);
CREATE INDEX hook_order ON hook (scope, seq);
CREATE INDEX hook_last ON hook (last_us);

CREATE TABLE hook_attempt (
    id         INTEGER PRIMARY KEY,
    hook_key   TEXT    NOT NULL,
    act        TEXT    NOT NULL, -- replay, forward, local
    target     TEXT    NOT NULL, -- scheme, host and path only
    at_us      INTEGER NOT NULL,
    status     INTEGER NOT NULL, -- HTTP, 0 when there was no answer
    latency_us INTEGER NOT NULL,
    error      TEXT    NOT NULL,
    scope      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX hook_attempt_key ON hook_attempt (scope, hook_key, id);

-- one row for each state of an operation in which a code and a word were seen together
CREATE TABLE hook_code (
    scope   INTEGER NOT NULL,
    field   TEXT    NOT NULL, -- type, status, payment_type
    code    INTEGER NOT NULL,
    word    TEXT    NOT NULL,
    opid    TEXT    NOT NULL,
    at_s    INTEGER NOT NULL, -- the operation's updated_at
    at_ns   INTEGER NOT NULL,
    exact   INTEGER NOT NULL,
    PRIMARY KEY (scope, field, code, word, opid, at_s, at_ns)
) WITHOUT ROWID;

-- How far the events of a scope were merged into the index, and those that could
-- not be: they are tried again. All up to seq are in the index or in hook_retry.
CREATE TABLE hook_merged (
    scope INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL
);

CREATE TABLE hook_retry (
    scope    INTEGER NOT NULL,
    hook_key TEXT   NOT NULL,
    tries    INTEGER NOT NULL,
    reason   TEXT   NOT NULL, -- of the last try, a sentence
    first_us INTEGER NOT NULL, -- Unix time in µs
    last_us  INTEGER NOT NULL,
    next_us  INTEGER NOT NULL,
    PRIMARY KEY (scope, hook_key)
) WITHOUT ROWID;

-- Deliveries that were not accepted: how many by reason, and the last ones.
CREATE TABLE hook_rejected_count (
    scope    INTEGER NOT NULL,
    reason   TEXT   NOT NULL, -- one of a few words
    n        INTEGER NOT NULL,
    first_us INTEGER NOT NULL,
    last_us  INTEGER NOT NULL,
    detail   TEXT   NOT NULL, -- of the last one
    source   TEXT   NOT NULL,
    PRIMARY KEY (scope, reason)
) WITHOUT ROWID;

CREATE TABLE hook_rejected (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    scope     INTEGER NOT NULL,
    at_us     INTEGER NOT NULL,
    status    INTEGER NOT NULL, -- the answer, HTTP
    reason    TEXT   NOT NULL,
    detail    TEXT   NOT NULL,
    source    TEXT   NOT NULL,
    algorithm TEXT   NOT NULL, -- of a JWT
    claims    TEXT   NOT NULL, -- names, separated by a space
    request   TEXT   NOT NULL, -- method and path
    header    TEXT   NOT NULL, -- JSON; values that may be secret are not in it
    body      BLOB    NOT NULL, -- its beginning
    size      INTEGER NOT NULL  -- of the whole body as far as it was read
);
CREATE INDEX hook_rejected_order ON hook_rejected (scope, id);
CREATE INDEX hook_rejected_age ON hook_rejected (at_us);

-- The body that a token came with first, for tokens that do not cover it.
CREATE TABLE hook_token (
    scope       INTEGER NOT NULL,
    token       BLOB    NOT NULL, -- SHA-256
    body_sha256 BLOB    NOT NULL,
    until_us    INTEGER NOT NULL, -- then it may be forgotten
    PRIMARY KEY (scope, token)
) WITHOUT ROWID;
CREATE INDEX hook_token_until ON hook_token (until_us);
CREATE INDEX hook_token_body ON hook_token (scope, body_sha256);
