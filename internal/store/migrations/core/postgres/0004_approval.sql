-- +goose Up
CREATE TABLE approval (
    scope      TEXT NOT NULL, -- base_url and account
    id         TEXT NOT NULL, -- random
    requester  TEXT NOT NULL, -- name, lower case
    target     TEXT NOT NULL, -- what the act is about, without the content
    state      TEXT NOT NULL,
    created_us BIGINT NOT NULL, -- Unix time in µs
    expires_us BIGINT NOT NULL,
    body       TEXT NOT NULL, -- the whole request, JSON; no secrets
    PRIMARY KEY (scope, id)
);
CREATE INDEX approval_target ON approval (scope, requester, target, created_us);
CREATE INDEX approval_newest ON approval (scope, created_us);
CREATE INDEX approval_live ON approval (scope, expires_us) WHERE state IN ('open', 'approved');

-- One row: grows with each change, and lines up the writers.
CREATE TABLE approval_version (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    n   BIGINT NOT NULL
);
INSERT INTO approval_version (one, n) VALUES (1, 0);

-- +goose Down
DROP TABLE approval_version;
DROP TABLE approval;
