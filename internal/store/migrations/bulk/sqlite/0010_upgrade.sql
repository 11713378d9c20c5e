-- +goose Up
CREATE INDEX index_absent_gone ON index_absent (gone_us) WHERE gone_us > 0;

-- When each replaced state ended: when the next one was first seen here.
CREATE TABLE index_history_new (
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
INSERT INTO index_history_new (scope, opid, seq, at_us, updated_us, origin, ended_us, body)
    SELECT h.scope, h.opid, h.seq, h.at_us, h.updated_us, h.origin, COALESCE(
        LEAD(h.at_us) OVER (PARTITION BY h.scope, h.opid ORDER BY h.seq),
        (SELECT o.changed_us FROM index_op o
            WHERE o.scope = h.scope AND o.opid_fold = LOWER(h.opid) AND o.opid = h.opid),
        (SELECT a.changed_us FROM index_absent a WHERE a.scope = h.scope AND a.opid = h.opid), h.at_us), h.body
    FROM index_history h;
DROP TABLE index_history;
ALTER TABLE index_history_new RENAME TO index_history;
CREATE INDEX index_history_ended ON index_history (ended_us);

CREATE INDEX hook_last ON hook (last_us);
CREATE INDEX hook_rejected_age ON hook_rejected (at_us);
CREATE INDEX hook_token_body ON hook_token (scope, body_sha256);
