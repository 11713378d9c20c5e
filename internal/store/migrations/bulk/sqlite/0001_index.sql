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
    docs         INTEGER NOT NULL,
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
    doc_text     TEXT    NOT NULL
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

-- Where three letters in a row occur; candidates only, the columns decide.
CREATE VIRTUAL TABLE index_words USING fts5 (body, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1', detail = none);
CREATE VIRTUAL TABLE index_party_words USING fts5 (body, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1', detail = none);

-- +goose Down
DROP TABLE index_party_words;
DROP TABLE index_words;
DROP TABLE index_sum;
DROP TABLE index_raw;
DROP TABLE index_op;
DROP TABLE index_party;
DROP TABLE index_kind;
DROP TABLE index_meta;
DROP TABLE index_scope;
