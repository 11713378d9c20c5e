-- +goose Up
-- States that were replaced by newer ones; the present state is in index_op.
CREATE TABLE index_history (
    scope      BIGINT NOT NULL,
    opid       TEXT COLLATE "C"    NOT NULL,
    seq        BIGINT NOT NULL, -- from 1, per operation
    at_us      BIGINT NOT NULL, -- when this state was first seen here
    updated_us BIGINT NOT NULL, -- the service's updatedAt
    origin     BIGINT NOT NULL, -- list, read, hook
    body       BYTEA    NOT NULL, -- the record as it came
    PRIMARY KEY (scope, opid, seq)
);

-- What each person has seen of an operation; opid '' is the list as a whole.
CREATE TABLE index_look (
    scope  BIGINT NOT NULL,
    person TEXT COLLATE "C"    NOT NULL,
    opid   TEXT COLLATE "C"    NOT NULL,
    at_us  BIGINT NOT NULL,
    PRIMARY KEY (scope, person, opid)
);

-- +goose Down
DROP TABLE index_look;
DROP TABLE index_history;
