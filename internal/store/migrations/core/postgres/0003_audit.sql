-- +goose Up
CREATE TABLE audit_head (
    one   BIGINT PRIMARY KEY CHECK (one = 1),
    chain TEXT   NOT NULL, -- name of the log: a UUID
    n     BIGINT NOT NULL, -- number of records
    hash  TEXT   NOT NULL, -- of the last record
    at_us BIGINT NOT NULL  -- of the last record, Unix time in µs
);

CREATE TABLE audit (
    seq       BIGINT PRIMARY KEY,
    uid       TEXT   NOT NULL UNIQUE, -- UUID version 7
    at_us     BIGINT NOT NULL,        -- Unix time in µs
    event     TEXT   NOT NULL,
    phase     TEXT   NOT NULL,        -- intent, outcome, note
    ref       TEXT   NOT NULL,        -- outcome: uid of the intent
    boot      TEXT   NOT NULL,        -- process that wrote it
    actor     TEXT   NOT NULL,
    object    TEXT   NOT NULL,
    object_id TEXT   NOT NULL,
    item      TEXT   NOT NULL,
    bytes     BYTEA  NOT NULL,        -- the record: exactly what hash is over
    hash      TEXT   NOT NULL
);
CREATE INDEX audit_actor ON audit (actor, seq);
CREATE INDEX audit_object ON audit (object_id, seq);
CREATE INDEX audit_item ON audit (item, seq) WHERE item <> '';
CREATE INDEX audit_event ON audit (event, seq);
CREATE INDEX audit_time ON audit (at_us);

-- Intents without an outcome. An index, not evidence: it can be made again.
CREATE TABLE audit_open (
    uid TEXT   PRIMARY KEY,
    seq BIGINT NOT NULL
);

-- The triggers guard against mistakes, not against the owner of the tables. Give
-- the program's user INSERT and SELECT on audit, and nothing more.
-- +goose StatementBegin
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION audit_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq IS DISTINCT FROM (SELECT n + 1 FROM audit_head) THEN
        RAISE EXCEPTION 'the audit trail is append-only';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_no_update BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_in_order BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION audit_in_order();
CREATE TRIGGER audit_head_forward BEFORE UPDATE ON audit_head FOR EACH ROW
    WHEN (NEW.n <> OLD.n + 1 OR NEW.chain <> OLD.chain) EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_head_stays BEFORE DELETE ON audit_head FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_head_truncate BEFORE TRUNCATE ON audit_head FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();

-- +goose Down
DROP TABLE audit_open;
DROP TABLE audit;
DROP TABLE audit_head;
DROP FUNCTION audit_in_order();
DROP FUNCTION audit_refuse();
