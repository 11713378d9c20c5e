-- +goose Up
CREATE TABLE limit_ring (
    base_url      TEXT    NOT NULL,
    account       TEXT    NOT NULL,
    class         TEXT    NOT NULL,
    not_before_ns BIGINT  NOT NULL DEFAULT 0,
    trimmed_ns    BIGINT  NOT NULL DEFAULT 0, -- when old slots were last dropped
    PRIMARY KEY (base_url, account, class)
);
CREATE TABLE limit_slot (
    base_url   TEXT    NOT NULL,
    account    TEXT    NOT NULL,
    class      TEXT    NOT NULL,
    at_ns      BIGINT  NOT NULL, -- store clock
    ticket     TEXT    NOT NULL,
    background BIGINT  NOT NULL,
    over       BIGINT  NOT NULL,
    PRIMARY KEY (base_url, account, class, at_ns, ticket)
);
CREATE TABLE limit_throttle (
    base_url TEXT    NOT NULL,
    account  TEXT    NOT NULL,
    class    TEXT    NOT NULL,
    at_ns    BIGINT  NOT NULL
);
CREATE INDEX limit_throttle_at ON limit_throttle (base_url, account, class, at_ns);

-- +goose Down
DROP TABLE limit_throttle;
DROP TABLE limit_slot;
DROP TABLE limit_ring;
