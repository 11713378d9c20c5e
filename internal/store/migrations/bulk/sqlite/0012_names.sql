-- +goose Up
-- The names that the service told of a customer or an account, by its identifier: the newest, as JSON within an
-- operation. Operations that lack them have them from here (opindex/known.go).
CREATE TABLE index_name (
    scope  INTEGER NOT NULL,
    id     TEXT    NOT NULL,
    kind   TEXT    NOT NULL, -- customer, account, counterparty
    record BLOB    NOT NULL,
    PRIMARY KEY (scope, id, kind)
) WITHOUT ROWID;
