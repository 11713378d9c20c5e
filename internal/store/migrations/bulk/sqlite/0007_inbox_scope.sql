-- +goose Up
-- The machine accounts whose webhooks are kept, each apart from the others. Scope
-- 0 are deliveries from before, of which it cannot be told whose they were.
CREATE TABLE hook_scope (
    n        INTEGER PRIMARY KEY,
    base_url TEXT   NOT NULL,
    account  TEXT   NOT NULL,
    UNIQUE (base_url, account)
);
INSERT INTO hook_scope (n, base_url, account) SELECT n, base_url, account FROM index_scope;

-- Whose an operation or a customer is: the account's whose list or single read
-- told of it, if that is one only. What came by webhooks alone (origin 2) counts
-- for nothing: it may have been another account's.
CREATE TABLE hook_owner (
    id    TEXT   NOT NULL PRIMARY KEY,
    scope INTEGER NOT NULL
);
INSERT INTO hook_owner (id, scope) SELECT p.id, MIN(p.scope) FROM index_party p
    WHERE p.id <> '' AND EXISTS (SELECT 1 FROM index_op o WHERE o.customer = p.n AND o.origin <> 2)
    GROUP BY p.id HAVING COUNT(DISTINCT p.scope) = 1;

CREATE TABLE hook_new (
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
INSERT INTO hook_new (seq, scope, hook_key, hook_id, hook_type, object, object_id, cuid, raw, body_sha256, received_us, source,
    verifier, authenticated, bound, status, reason, detail, deliveries, last_us)
    SELECT h.seq, CASE WHEN (SELECT COUNT(*) FROM hook_scope) = 1 THEN (SELECT MIN(n) FROM hook_scope) ELSE COALESCE(
        (SELECT CASE WHEN COUNT(*) = 1 THEN MIN(s.n) END FROM hook_scope s
            JOIN index_op o ON o.scope = s.n AND o.opid_fold = LOWER(h.object_id) AND o.opid = h.object_id AND o.origin <> 2),
        (SELECT w.scope FROM hook_owner w WHERE w.id = h.cuid), 0) END,
    hook_key, hook_id, hook_type, object, object_id, cuid, raw, body_sha256, received_us, source,
    verifier, authenticated, bound, status, reason, detail, deliveries, last_us
    FROM hook h ORDER BY h.seq;

ALTER TABLE hook_attempt ADD COLUMN scope INTEGER NOT NULL DEFAULT 0;
UPDATE hook_attempt SET scope = COALESCE((SELECT h.scope FROM hook_new h JOIN hook old ON old.seq = h.seq WHERE old.hook_key = hook_attempt.hook_key), 0);
DROP INDEX hook_attempt_key;
CREATE INDEX hook_attempt_key ON hook_attempt (scope, hook_key, id);

DROP TABLE hook;
ALTER TABLE hook_new RENAME TO hook;
CREATE INDEX hook_object ON hook (scope, object_id, seq);
CREATE INDEX hook_conflict ON hook (scope, hook_id) WHERE status = 'conflict';
CREATE INDEX hook_count ON hook (scope, hook_type, status, seq);
CREATE INDEX hook_order ON hook (scope, seq);

-- one row for each state of an operation in which a code and a word were seen together
CREATE TABLE hook_code_new (
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
INSERT INTO hook_code_new (scope, field, code, word, opid, at_s, at_ns, exact)
    SELECT CASE WHEN (SELECT COUNT(*) FROM hook_scope) = 1 THEN (SELECT MIN(n) FROM hook_scope) ELSE COALESCE(
        (SELECT CASE WHEN COUNT(*) = 1 THEN MIN(s.n) END FROM hook_scope s
            JOIN index_op o ON o.scope = s.n AND o.opid_fold = LOWER(c.opid) AND o.opid = c.opid AND o.origin <> 2), 0) END,
    c.field, c.code, c.word, c.opid, c.at_s, c.at_ns, c.exact FROM hook_code c;
DROP TABLE hook_code;
ALTER TABLE hook_code_new RENAME TO hook_code;

-- How far the events of a scope were merged into the index, and those that could
-- not be: they are tried again. All up to seq are in the index or in hook_retry.
CREATE TABLE hook_merged (
    scope INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL
);
INSERT INTO hook_merged (scope, seq) SELECT scope, CAST(value AS INTEGER) FROM index_meta WHERE name = 'events' AND value <> '';
DELETE FROM index_meta WHERE name = 'events';

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

-- The body that a token came with first, for tokens that do not cover it.
CREATE TABLE hook_token (
    scope       INTEGER NOT NULL,
    token       BLOB    NOT NULL, -- SHA-256
    body_sha256 BLOB    NOT NULL,
    until_us    INTEGER NOT NULL, -- then it may be forgotten
    PRIMARY KEY (scope, token)
) WITHOUT ROWID;
CREATE INDEX hook_token_until ON hook_token (until_us);

DROP TABLE hook_owner;

-- +goose Down
INSERT INTO index_meta (scope, name, value) SELECT scope, 'events', CAST(seq AS TEXT) FROM hook_merged;
DROP TABLE hook_token;
DROP TABLE hook_rejected;
DROP TABLE hook_rejected_count;
DROP TABLE hook_retry;
DROP TABLE hook_merged;
CREATE TABLE hook_code_old (
    field   TEXT    NOT NULL, -- type, status, payment_type
    code    INTEGER NOT NULL,
    word    TEXT    NOT NULL,
    opid    TEXT    NOT NULL,
    at_s    INTEGER NOT NULL, -- the operation's updated_at
    at_ns   INTEGER NOT NULL,
    exact   INTEGER NOT NULL,
    PRIMARY KEY (field, code, word, opid, at_s, at_ns)
) WITHOUT ROWID;
INSERT OR IGNORE INTO hook_code_old (field, code, word, opid, at_s, at_ns, exact)
    SELECT field, code, word, opid, at_s, at_ns, exact FROM hook_code;
DROP TABLE hook_code;
ALTER TABLE hook_code_old RENAME TO hook_code;
CREATE TABLE hook_old (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    hook_key      TEXT    NOT NULL UNIQUE,        -- hook_id, or what stands for it
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
    last_us       INTEGER NOT NULL
);
INSERT OR IGNORE INTO hook_old (seq, hook_key, hook_id, hook_type, object, object_id, cuid, raw, body_sha256, received_us, source,
    verifier, authenticated, bound, status, reason, detail, deliveries, last_us)
    SELECT seq, hook_key, hook_id, hook_type, object, object_id, cuid, raw, body_sha256, received_us, source,
    verifier, authenticated, bound, status, reason, detail, deliveries, last_us FROM hook ORDER BY seq;
DROP TABLE hook;
ALTER TABLE hook_old RENAME TO hook;
CREATE INDEX hook_object ON hook (object_id, seq);
CREATE INDEX hook_conflict ON hook (hook_id) WHERE status = 'conflict';
CREATE INDEX hook_count ON hook (hook_type, status, seq);
DROP INDEX hook_attempt_key;
ALTER TABLE hook_attempt DROP COLUMN scope;
CREATE INDEX hook_attempt_key ON hook_attempt (hook_key, id);
DROP TABLE hook_scope;
