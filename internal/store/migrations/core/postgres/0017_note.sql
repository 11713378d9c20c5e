-- +goose Up
-- What people wrote down about an operation or a customer. A note never changes.
CREATE TABLE note (
    uid       TEXT   PRIMARY KEY,
    scope     TEXT   NOT NULL, -- base_url and account
    object    TEXT   NOT NULL, -- operation, customer
    object_id TEXT   NOT NULL,
    author    TEXT   NOT NULL,
    at_us     BIGINT NOT NULL, -- Unix time in µs, the store's
    body      TEXT   NOT NULL,
    folded    TEXT   NOT NULL  -- body in lower case, for search
);
CREATE INDEX note_object ON note (scope, object_id, at_us);
CREATE INDEX note_at ON note (at_us);

-- +goose Down
DROP TABLE note;
