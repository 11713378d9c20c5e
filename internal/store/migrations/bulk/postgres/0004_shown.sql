-- +goose Up
-- What people may search by who may not reveal account numbers: the texts of a
-- party as the mask leaves them, and in which texts of an operation it hides
-- something. Rows from before are filled in when the index is opened.
ALTER TABLE index_party ADD COLUMN shown TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE index_op ADD COLUMN hidden BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE index_op DROP COLUMN hidden;
ALTER TABLE index_party DROP COLUMN shown;
