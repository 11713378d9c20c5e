-- +goose Up
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

-- +goose Down
DROP TABLE audit_open;
DROP TABLE audit;
DROP TABLE audit_head;
