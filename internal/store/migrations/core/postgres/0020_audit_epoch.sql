-- +goose Up
-- The trail is a hash chain with signed checkpoints. The tree over the records goes, and archived records come back
-- as rows: audit_segment holds the segments that are not imported yet.
DROP TABLE audit_tree;

-- The record that began the present epoch; 0: an older program wrote the trail, and it was not verified since.
ALTER TABLE audit_head ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;

DROP TRIGGER audit_no_update ON audit;
DROP TRIGGER audit_no_delete ON audit;
DROP TRIGGER audit_segment_follows ON audit_segment;
DROP TRIGGER audit_segment_stays ON audit_segment;
DROP FUNCTION audit_archived();
DROP FUNCTION audit_segment_follows();
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq IS DISTINCT FROM (SELECT n + 1 FROM audit_head)
        AND NOT EXISTS (SELECT 1 FROM audit_segment WHERE NEW.seq BETWEEN first AND last) THEN
        RAISE EXCEPTION 'the audit trail is append-only';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_no_update BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_segment_closed BEFORE INSERT OR UPDATE ON audit_segment FOR EACH ROW
    EXECUTE FUNCTION audit_refuse();
