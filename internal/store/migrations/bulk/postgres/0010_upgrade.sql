-- +goose Up
CREATE INDEX index_absent_gone ON index_absent (gone_us) WHERE gone_us > 0;

-- When each replaced state ended: when the next one was first seen here.
ALTER TABLE index_history ADD COLUMN ended_us BIGINT NOT NULL DEFAULT 0;
UPDATE index_history h SET ended_us = COALESCE(
    (SELECT n.at_us FROM index_history n WHERE n.scope = h.scope AND n.opid = h.opid AND n.seq > h.seq
        ORDER BY n.seq LIMIT 1),
    (SELECT o.changed_us FROM index_op o WHERE o.scope = h.scope AND o.opid_fold = LOWER(h.opid) AND o.opid = h.opid),
    (SELECT a.changed_us FROM index_absent a WHERE a.scope = h.scope AND a.opid = h.opid), h.at_us);
ALTER TABLE index_history ALTER COLUMN ended_us DROP DEFAULT;
CREATE INDEX index_history_ended ON index_history (ended_us);

CREATE INDEX hook_last ON hook (last_us);
CREATE INDEX hook_rejected_age ON hook_rejected (at_us);
CREATE INDEX hook_token_body ON hook_token (scope, body_sha256);
