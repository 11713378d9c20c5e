-- +goose Up
CREATE TABLE limit_ring (
    base_url      TEXT    NOT NULL,
    account       TEXT    NOT NULL,
    class         TEXT    NOT NULL,
    not_before_ns INTEGER NOT NULL DEFAULT 0,
    trimmed_ns    INTEGER NOT NULL DEFAULT 0, -- when old slots were last dropped
    PRIMARY KEY (base_url, account, class)
) WITHOUT ROWID;
CREATE TABLE limit_slot (
    base_url   TEXT    NOT NULL,
    account    TEXT    NOT NULL,
    class      TEXT    NOT NULL,
    at_ns      INTEGER NOT NULL, -- store clock
    ticket     TEXT    NOT NULL,
    background INTEGER NOT NULL,
    over       INTEGER NOT NULL,
    PRIMARY KEY (base_url, account, class, at_ns, ticket)
) WITHOUT ROWID;
CREATE TABLE limit_throttle (
    base_url TEXT    NOT NULL,
    account  TEXT    NOT NULL,
    class    TEXT    NOT NULL,
    at_ns    INTEGER NOT NULL
);
CREATE INDEX limit_throttle_at ON limit_throttle (base_url, account, class, at_ns);

-- +goose Down
DROP TABLE limit_throttle;
DROP TABLE limit_slot;
DROP TABLE limit_ring;
