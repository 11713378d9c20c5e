-- +goose Up
-- When each operation was last seen at the service, apart from the wide rows: a
-- page that only confirms what is known then writes a few narrow rows.
CREATE TABLE index_sight (
    n        INTEGER PRIMARY KEY,        -- of index_op
    scope    INTEGER NOT NULL,
    seen_us  INTEGER NOT NULL,           -- the store's time at which the request that brought it was sent; 0: not known
    asked_us INTEGER NOT NULL DEFAULT 0  -- when it was last read alone because a pass had not shown it
);
-- Times from before are those of whichever host wrote, and of webhooks.
INSERT INTO index_sight (n, scope, seen_us) SELECT n, scope, CASE WHEN origin = 2 THEN 0 ELSE max(seen_us - 60000000, 0) END FROM index_op;
CREATE INDEX index_sight_seen ON index_sight (scope, seen_us);

-- Every row has its sight, whichever program writes it. index_op.seen_us is the
-- sight with which the row was written.
-- +goose StatementBegin
CREATE TRIGGER index_op_added AFTER INSERT ON index_op BEGIN
    INSERT INTO index_sight (n, scope, seen_us) VALUES (new.n, new.scope, new.seen_us);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER index_op_removed AFTER DELETE ON index_op BEGIN
    DELETE FROM index_sight WHERE n = old.n;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER index_op_confirmed AFTER UPDATE OF seen_us ON index_op BEGIN
    UPDATE index_sight SET seen_us = new.seen_us WHERE n = new.n;
END;
-- +goose StatementEnd

-- Operations that are not in the list: gone at the service, or announced by a
-- webhook and not read yet.
CREATE TABLE index_absent (
    scope      INTEGER NOT NULL,
    opid       TEXT    NOT NULL,
    gone_us    INTEGER NOT NULL, -- the store's time at which the request was sent that proved it; 0: announced only
    seen_us    INTEGER NOT NULL,
    changed_us INTEGER NOT NULL,
    origin     INTEGER NOT NULL,
    due_us     INTEGER NOT NULL, -- when a read is due; 0: none
    body       BLOB    NOT NULL, -- the last state; empty: announced only
    PRIMARY KEY (scope, opid)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE index_absent;
DROP TRIGGER index_op_confirmed;
DROP TRIGGER index_op_removed;
DROP TRIGGER index_op_added;
DROP TABLE index_sight;
