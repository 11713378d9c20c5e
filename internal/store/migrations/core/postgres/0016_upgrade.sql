-- +goose Up
-- Which routes accepted the pair, and which refuse what others accept.
ALTER TABLE session ADD COLUMN routes TEXT NOT NULL DEFAULT '[]'; -- JSON

ALTER TABLE limit_slot ADD COLUMN who TEXT NOT NULL DEFAULT ''; -- who makes the call, for people

-- Files with records that left the table audit, one after the other. No record goes
-- before its segment is here.
CREATE TABLE audit_segment (
    first  BIGINT PRIMARY KEY, -- records
    last   BIGINT NOT NULL,
    hash   TEXT   NOT NULL, -- of the last record
    at_us  BIGINT NOT NULL, -- of the last record
    file   TEXT   NOT NULL,
    folder TEXT   NOT NULL,
    host   TEXT   NOT NULL
);

-- Give the program's user INSERT and SELECT on audit and audit_segment, DELETE on audit where
-- records are archived, and nothing more.
-- +goose StatementBegin
CREATE FUNCTION audit_archived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.seq > (SELECT COALESCE(MAX(last), 0) FROM audit_segment) THEN
        RAISE EXCEPTION 'the audit trail is append-only';
    END IF;
    RETURN OLD;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION audit_segment_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.first <> (SELECT COALESCE(MAX(last), 0) + 1 FROM audit_segment) OR NEW.last < NEW.first
        OR NEW.hash IS DISTINCT FROM (SELECT hash FROM audit WHERE seq = NEW.last) THEN
        RAISE EXCEPTION 'the audit trail is append-only';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
DROP TRIGGER audit_no_update ON audit;
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_archived();
CREATE TRIGGER audit_segment_follows BEFORE INSERT ON audit_segment FOR EACH ROW
    EXECUTE FUNCTION audit_segment_follows();
CREATE TRIGGER audit_segment_stays BEFORE UPDATE OR DELETE ON audit_segment FOR EACH ROW
    EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_segment_truncate BEFORE TRUNCATE ON audit_segment FOR EACH STATEMENT
    EXECUTE FUNCTION audit_refuse();

CREATE INDEX approval_ended ON approval (created_us) WHERE state NOT IN ('open', 'approved');
-- The digest of a request now covers more of it: a waiting one must be asked for again.
UPDATE approval SET state = 'lapsed',
    body = (body::jsonb || '{"state": "lapsed", "ended": "opdeck was upgraded"}'::jsonb)::text
    WHERE state IN ('open', 'approved');
UPDATE approval_version SET n = n + 1;

CREATE INDEX job_ended ON job (updated_us) WHERE done = 1;

-- What no other write may do while this one is in doubt, taken as "sending" is stored.
ALTER TABLE unsettled ADD COLUMN claim TEXT NOT NULL DEFAULT '';
-- From when on it is looked for no longer. Writes from before are looked for for late_after again, at most a day.
ALTER TABLE unsettled ADD COLUMN until_us BIGINT NOT NULL DEFAULT 0;
UPDATE unsettled SET until_us = CASE WHEN state = 'not_seen' THEN next_us - 86400000000 ELSE sent_us + 86400000000 END;
CREATE UNIQUE INDEX unsettled_claim ON unsettled (context, claim) WHERE claim <> '';

-- Work that one process at a time does for all, now and then.
CREATE TABLE turn (
    name     TEXT   PRIMARY KEY,
    owner    TEXT   NOT NULL, -- of the process that does it; '' for none
    until_us BIGINT NOT NULL, -- then another one may take over; the store's time, as the next
    done_us  BIGINT NOT NULL  -- when it was last done
);

-- What real calls have shown last, for all processes.
CREATE TABLE answer (
    scope   TEXT    NOT NULL, -- base_url and account
    class   TEXT    NOT NULL,
    route   TEXT    NOT NULL,
    body    TEXT    NOT NULL, -- JSON: answers.Last; no secrets
    seen_us BIGINT  NOT NULL, -- of the newest outcome, Unix time in µs, the store's
    PRIMARY KEY (scope, class, route)
);

-- The rules of [notify.NAME]: what they have noticed, and their silence.
CREATE TABLE notify_rule (
    scope   TEXT NOT NULL, -- base_url and account
    name    TEXT NOT NULL,
    state   TEXT NOT NULL, -- JSON: notify.State; no secrets
    silence TEXT NOT NULL, -- JSON: notify.Silence
    PRIMARY KEY (scope, name)
);

-- Their notices. Times are Unix times in µs, the store's.
CREATE TABLE notice (
    scope      TEXT    NOT NULL,
    id         TEXT    NOT NULL, -- the same on every host
    rule       TEXT    NOT NULL,
    phase      TEXT    NOT NULL, -- waiting, sending, sent, failed, silenced
    body       TEXT    NOT NULL, -- JSON: notify.Notice; no secrets
    owner      TEXT    NOT NULL DEFAULT '', -- process that sends it
    attempts   BIGINT NOT NULL DEFAULT 0,
    error      TEXT    NOT NULL DEFAULT '', -- of the last attempt
    seq        BIGINT NOT NULL, -- within its rule
    next_us    BIGINT NOT NULL DEFAULT 0, -- of the next attempt
    until_us   BIGINT NOT NULL DEFAULT 0, -- end of the claim
    ended_us   BIGINT NOT NULL DEFAULT 0, -- sent, failed, silenced; 0: open
    PRIMARY KEY (scope, id)
);
CREATE UNIQUE INDEX notice_order ON notice (scope, rule, seq);
CREATE INDEX notice_open ON notice (scope, rule, seq) WHERE ended_us = 0;
CREATE INDEX notice_ended ON notice (ended_us) WHERE ended_us > 0;

-- What one process knows of its host and the others cannot see: ports that it could not open, the last check of the
-- audit trail, the check value of the key that seals tokens (scope '').
CREATE TABLE observation (
    scope   TEXT    NOT NULL, -- base_url and account
    part    TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    body    TEXT    NOT NULL, -- JSON; no secrets
    seen_us BIGINT  NOT NULL, -- Unix time in µs, the store's
    PRIMARY KEY (scope, part, name)
);
