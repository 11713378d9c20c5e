-- +goose Up
-- The parts of a kept sum by kind, packed; empty until they have been summed (opindex/shares.go).
ALTER TABLE index_sum ADD COLUMN shares BYTEA NOT NULL DEFAULT '';

-- Programs write the sight of a new row themselves, as with SQLite.
DROP TRIGGER index_op_added ON index_op;
DROP FUNCTION index_op_added();

-- The folded identifier finds the rows; opid decides among those that differ in case only.
DROP INDEX index_op_id;
CREATE INDEX index_op_id ON index_op (scope, opid_fold, n);
