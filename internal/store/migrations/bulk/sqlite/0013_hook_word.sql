-- +goose Up
-- The words that the service says over REST where a webhook of the same operation and the same updatedAt has a code.
CREATE TABLE hook_word (
    scope INTEGER NOT NULL,
    field TEXT NOT NULL, -- type, status, payment_type
    code  INTEGER NOT NULL,
    word  TEXT NOT NULL,
    opid  TEXT NOT NULL, -- the first operation that showed it
    PRIMARY KEY (scope, field, code, word)
) WITHOUT ROWID;
INSERT INTO hook_word (scope, field, code, word, opid)
    SELECT scope, field, code, word, MIN(opid) FROM hook_code GROUP BY scope, field, code, word;
DROP TABLE hook_code;
DROP TABLE hook_attempt;
