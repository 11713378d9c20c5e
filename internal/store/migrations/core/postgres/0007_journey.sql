-- +goose Up
CREATE TABLE journey (
    context    TEXT    NOT NULL, -- base_url and account
    cuid       TEXT    NOT NULL,
    body       TEXT    NOT NULL, -- JSON; no secrets
    unfinished BIGINT  NOT NULL,
    updated_us BIGINT  NOT NULL, -- Unix time in µs
    PRIMARY KEY (context, cuid)
);
CREATE INDEX journey_open ON journey (context, unfinished, updated_us);

-- +goose Down
DROP TABLE journey;
