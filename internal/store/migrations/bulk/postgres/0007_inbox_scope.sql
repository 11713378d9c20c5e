-- +goose Up
-- The machine accounts whose webhooks are kept, each apart from the others. Scope
-- 0 are deliveries from before, of which it cannot be told whose they were.
CREATE TABLE hook_scope (
    n        BIGINT PRIMARY KEY,
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
    scope BIGINT NOT NULL
);
INSERT INTO hook_owner (id, scope) SELECT p.id, MIN(p.scope) FROM index_party p
    WHERE p.id <> '' AND EXISTS (SELECT 1 FROM index_op o WHERE o.customer = p.n AND o.origin <> 2)
    GROUP BY p.id HAVING COUNT(DISTINCT p.scope) = 1;

ALTER TABLE hook ADD COLUMN scope BIGINT NOT NULL DEFAULT 0;
UPDATE hook SET scope = CASE WHEN (SELECT COUNT(*) FROM hook_scope) = 1 THEN (SELECT MIN(n) FROM hook_scope) ELSE COALESCE(
        (SELECT CASE WHEN COUNT(*) = 1 THEN MIN(s.n) END FROM hook_scope s
            JOIN index_op o ON o.scope = s.n AND o.opid_fold = LOWER(hook.object_id) AND o.opid = hook.object_id AND o.origin <> 2),
        (SELECT w.scope FROM hook_owner w WHERE w.id = hook.cuid), 0) END;
ALTER TABLE hook DROP CONSTRAINT hook_hook_key_key;
ALTER TABLE hook ADD UNIQUE (scope, hook_key);
DROP INDEX hook_object;
DROP INDEX hook_conflict;
DROP INDEX hook_count;
CREATE INDEX hook_object ON hook (scope, object_id, seq);
CREATE INDEX hook_conflict ON hook (scope, hook_id) WHERE status = 'conflict';
CREATE INDEX hook_count ON hook (scope, hook_type, status, seq);
CREATE INDEX hook_order ON hook (scope, seq);

ALTER TABLE hook_attempt ADD COLUMN scope BIGINT NOT NULL DEFAULT 0;
UPDATE hook_attempt SET scope = COALESCE((SELECT h.scope FROM hook h WHERE h.hook_key = hook_attempt.hook_key), 0);
DROP INDEX hook_attempt_key;
CREATE INDEX hook_attempt_key ON hook_attempt (scope, hook_key, id);

ALTER TABLE hook_code ADD COLUMN scope BIGINT NOT NULL DEFAULT 0;
UPDATE hook_code SET scope = CASE WHEN (SELECT COUNT(*) FROM hook_scope) = 1 THEN (SELECT MIN(n) FROM hook_scope) ELSE COALESCE(
        (SELECT CASE WHEN COUNT(*) = 1 THEN MIN(s.n) END FROM hook_scope s
            JOIN index_op o ON o.scope = s.n AND o.opid_fold = LOWER(hook_code.opid) AND o.opid = hook_code.opid AND o.origin <> 2), 0) END;
ALTER TABLE hook_code DROP CONSTRAINT hook_code_pkey;
ALTER TABLE hook_code ADD PRIMARY KEY (scope, field, code, word, opid, at_s, at_ns);

-- How far the events of a scope were merged into the index, and those that could
-- not be: they are tried again. All up to seq are in the index or in hook_retry.
CREATE TABLE hook_merged (
    scope BIGINT PRIMARY KEY,
    seq   BIGINT NOT NULL
);
INSERT INTO hook_merged (scope, seq) SELECT scope, CAST(value AS BIGINT) FROM index_meta WHERE name = 'events' AND value <> '';
DELETE FROM index_meta WHERE name = 'events';

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

-- The body that a token came with first, for tokens that do not cover it.
CREATE TABLE hook_token (
    scope       BIGINT NOT NULL,
    token       BYTEA   NOT NULL, -- SHA-256
    body_sha256 BYTEA   NOT NULL,
    until_us    BIGINT NOT NULL, -- then it may be forgotten
    PRIMARY KEY (scope, token)
);
CREATE INDEX hook_token_until ON hook_token (until_us);

DROP TABLE hook_owner;

-- +goose Down
INSERT INTO index_meta (scope, name, value) SELECT scope, 'events', CAST(seq AS TEXT) FROM hook_merged;
DROP TABLE hook_token;
DROP TABLE hook_rejected;
DROP TABLE hook_rejected_count;
DROP TABLE hook_retry;
DROP TABLE hook_merged;
DELETE FROM hook_code a USING hook_code b WHERE a.scope > b.scope AND a.field = b.field AND a.code = b.code AND a.word = b.word
    AND a.opid = b.opid AND a.at_s = b.at_s AND a.at_ns = b.at_ns;
ALTER TABLE hook_code DROP CONSTRAINT hook_code_pkey;
ALTER TABLE hook_code DROP COLUMN scope;
ALTER TABLE hook_code ADD PRIMARY KEY (field, code, word, opid, at_s, at_ns);
DELETE FROM hook a USING hook b WHERE a.seq > b.seq AND a.hook_key = b.hook_key;
DROP INDEX hook_object;
DROP INDEX hook_conflict;
DROP INDEX hook_count;
DROP INDEX hook_order;
ALTER TABLE hook DROP CONSTRAINT hook_scope_hook_key_key;
ALTER TABLE hook DROP COLUMN scope;
ALTER TABLE hook ADD UNIQUE (hook_key);
CREATE INDEX hook_object ON hook (object_id, seq);
CREATE INDEX hook_conflict ON hook (hook_id) WHERE status = 'conflict';
CREATE INDEX hook_count ON hook (hook_type, status, seq);
DROP INDEX hook_attempt_key;
ALTER TABLE hook_attempt DROP COLUMN scope;
CREATE INDEX hook_attempt_key ON hook_attempt (hook_key, id);
DROP TABLE hook_scope;
