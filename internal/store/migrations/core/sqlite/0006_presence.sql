-- +goose Up
CREATE TABLE presence (
    console   TEXT PRIMARY KEY, -- one console of a person
    scope     TEXT NOT NULL,    -- base_url and account
    object    TEXT NOT NULL,
    object_id TEXT NOT NULL,
    person    TEXT NOT NULL,
    host      TEXT NOT NULL,
    since_us  INTEGER NOT NULL, -- Unix time in µs
    seen_us   INTEGER NOT NULL, -- last sign of life
    dialog    INTEGER NOT NULL  -- 1: a question about a write is open
);
CREATE INDEX presence_object ON presence (scope, object, object_id);

-- +goose Down
DROP TABLE presence;
