-- +goose Up
CREATE TABLE hook (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT, -- order of commit; never used twice
    hook_key      TEXT    NOT NULL UNIQUE, -- hook_id, or what stands for it
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
CREATE INDEX hook_object ON hook (object_id, seq);
CREATE INDEX hook_conflict ON hook (hook_id) WHERE status = 'conflict';
CREATE INDEX hook_count ON hook (hook_type, status, seq);

CREATE TABLE hook_attempt (
    id         INTEGER PRIMARY KEY,
    hook_key   TEXT    NOT NULL,
    act        TEXT    NOT NULL, -- replay, forward, local
    target     TEXT    NOT NULL, -- scheme, host and path only
    at_us      INTEGER NOT NULL,
    status     INTEGER NOT NULL, -- HTTP, 0 when there was no answer
    latency_us INTEGER NOT NULL,
    error      TEXT    NOT NULL
);
CREATE INDEX hook_attempt_key ON hook_attempt (hook_key, id);

-- one row for each state of an operation in which a code and a word were seen together
CREATE TABLE hook_code (
    field   TEXT    NOT NULL, -- type, status, payment_type
    code    INTEGER NOT NULL,
    word    TEXT    NOT NULL,
    opid    TEXT    NOT NULL,
    at_s    INTEGER NOT NULL, -- the operation's updated_at
    at_ns   INTEGER NOT NULL,
    exact   INTEGER NOT NULL,
    PRIMARY KEY (field, code, word, opid, at_s, at_ns)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE hook_code;
DROP TABLE hook_attempt;
DROP TABLE hook;
