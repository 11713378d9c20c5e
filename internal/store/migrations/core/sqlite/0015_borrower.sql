-- +goose Up
-- What scripts borrowed the session through each proxy. A tally, not evidence: the
-- audit trail holds that.
CREATE TABLE borrower (
    scope   TEXT NOT NULL, -- base_url and account
    process TEXT NOT NULL, -- of the proxy: random
    name    TEXT NOT NULL,
    body    TEXT NOT NULL, -- JSON: counts; no secrets
    seen_us INTEGER NOT NULL, -- Unix time in µs, the store's
    PRIMARY KEY (scope, process, name)
);

-- +goose Down
DROP TABLE borrower;
