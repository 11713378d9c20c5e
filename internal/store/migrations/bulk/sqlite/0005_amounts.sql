-- +goose Up
-- All that a sum over a range of amounts asks for, in the order of its groups.
CREATE INDEX index_op_sums ON index_op (scope, kind, amount_key, hi, lo, nanos);

-- +goose Down
DROP INDEX index_op_sums;
