-- +goose Up
-- The parts of a kept sum by kind, packed; empty until they have been summed (opindex/shares.go).
ALTER TABLE index_sum ADD COLUMN shares BLOB NOT NULL DEFAULT x'';

-- An insert with a trigger keeps a journal to undo itself, which costs more than a
-- statement for all new rows. Programs write the sight of a new row themselves.
DROP TRIGGER index_op_added;

-- The folded identifier finds the rows; opid decides among those that differ in case only.
DROP INDEX index_op_id;
CREATE INDEX index_op_id ON index_op (scope, opid_fold);
