-- +goose Up
-- The names that the service told of a customer or an account, by its identifier: the newest, as JSON within an
-- operation. Operations that lack them have them from here (opindex/known.go).
CREATE TABLE index_name (
    scope  BIGINT           NOT NULL,
    id     TEXT COLLATE "C" NOT NULL,
    kind   TEXT COLLATE "C" NOT NULL, -- customer, account, counterparty
    record BYTEA            NOT NULL,
    PRIMARY KEY (scope, id, kind)
);
