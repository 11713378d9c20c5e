-- +goose Up
-- States that were replaced by newer ones; the present state is in index_op.
CREATE TABLE index_history (
    scope      INTEGER NOT NULL,
    opid       TEXT    NOT NULL,
    seq        INTEGER NOT NULL, -- from 1, per operation
    at_us      INTEGER NOT NULL, -- when this state was first seen here
    updated_us INTEGER NOT NULL, -- the service's updatedAt
    origin     INTEGER NOT NULL, -- list, read, hook
    body       BLOB    NOT NULL, -- the record as it came
    PRIMARY KEY (scope, opid, seq)
) WITHOUT ROWID;

-- What each person has seen of an operation; opid '' is the list as a whole.
CREATE TABLE index_look (
    scope  INTEGER NOT NULL,
    person TEXT    NOT NULL,
    opid   TEXT    NOT NULL,
    at_us  INTEGER NOT NULL,
    PRIMARY KEY (scope, person, opid)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE index_look;
DROP TABLE index_history;
