-- +goose Up
-- The trail is a hash chain with signed checkpoints. The tree over the records goes, and archived records come back
-- as rows: audit_segment holds the segments that are not imported yet.
DROP TABLE audit_tree;

-- The record that began the present epoch; 0: an older program wrote the trail, and it was not verified since.
ALTER TABLE audit_head ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER audit_no_delete;
DROP TRIGGER audit_in_order;
DROP TRIGGER audit_segment_follows;
DROP TRIGGER audit_segment_stays;
-- +goose StatementBegin
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_in_order BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE uid = NEW.uid) OR NEW.seq IS NOT (SELECT n + 1 FROM audit_head)
    AND NOT EXISTS (SELECT 1 FROM audit_segment WHERE NEW.seq BETWEEN first AND last)
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_segment_closed BEFORE INSERT ON audit_segment
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
