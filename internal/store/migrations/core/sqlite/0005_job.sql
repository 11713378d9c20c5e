-- +goose Up
CREATE TABLE job (
    id         TEXT    PRIMARY KEY, -- random
    kind       TEXT    NOT NULL,    -- replace_document, …
    context    TEXT    NOT NULL,    -- base_url and account: whose job it is
    step       TEXT    NOT NULL,
    body       TEXT    NOT NULL,    -- JSON; no secrets
    owner      TEXT    NOT NULL,    -- person who started it
    created_us INTEGER NOT NULL,    -- Unix time in µs
    updated_us INTEGER NOT NULL,
    done       INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX job_open ON job (context, done, created_us);

-- +goose Down
DROP TABLE job;
