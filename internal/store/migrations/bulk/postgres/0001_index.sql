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
    docs         BIGINT NOT NULL,
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
    doc_text     TEXT COLLATE "C"    NOT NULL
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

-- +goose Down
DROP TABLE index_sum;
DROP TABLE index_raw;
DROP TABLE index_op;
DROP TABLE index_party;
DROP TABLE index_kind;
DROP TABLE index_meta;
DROP TABLE index_scope;
