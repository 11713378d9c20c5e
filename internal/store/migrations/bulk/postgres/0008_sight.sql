-- +goose Up
-- When each operation was last seen at the service, apart from the wide rows: a
-- page that only confirms what is known then writes a few narrow rows.
CREATE TABLE index_sight (
    n        BIGINT PRIMARY KEY,        -- of index_op
    scope    BIGINT NOT NULL,
    seen_us  BIGINT NOT NULL,           -- the store's time at which the request that brought it was sent; 0: not known
    asked_us BIGINT NOT NULL DEFAULT 0  -- when it was last read alone because a pass had not shown it
);
-- Times from before are those of whichever host wrote, and of webhooks.
INSERT INTO index_sight (n, scope, seen_us) SELECT n, scope, CASE WHEN origin = 2 THEN 0 ELSE greatest(seen_us - 60000000, 0) END FROM index_op;
CREATE INDEX index_sight_seen ON index_sight (scope, seen_us);

-- Every row has its sight, whichever program writes it. index_op.seen_us is the
-- sight with which the row was written.
-- +goose StatementBegin
CREATE FUNCTION index_op_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO index_sight (n, scope, seen_us) SELECT n, scope, seen_us FROM added;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION index_op_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM index_sight s USING removed r WHERE s.n = r.n;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION index_op_confirmed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE index_sight SET seen_us = NEW.seen_us WHERE n = NEW.n;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER index_op_added AFTER INSERT ON index_op REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION index_op_added();
CREATE TRIGGER index_op_removed AFTER DELETE ON index_op REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION index_op_removed();
CREATE TRIGGER index_op_confirmed AFTER UPDATE OF seen_us ON index_op FOR EACH ROW EXECUTE FUNCTION index_op_confirmed();

-- Operations that are not in the list: gone at the service, or announced by a
-- webhook and not read yet.
CREATE TABLE index_absent (
    scope      BIGINT NOT NULL,
    opid       TEXT   NOT NULL,
    gone_us    BIGINT NOT NULL, -- the store's time at which the request was sent that proved it; 0: announced only
    seen_us    BIGINT NOT NULL,
    changed_us BIGINT NOT NULL,
    origin     INTEGER NOT NULL,
    due_us     BIGINT NOT NULL, -- when a read is due; 0: none
    body       BYTEA  NOT NULL, -- the last state; empty: announced only
    PRIMARY KEY (scope, opid)
);

-- +goose Down
DROP TABLE index_absent;
DROP TRIGGER index_op_confirmed ON index_op;
DROP TRIGGER index_op_removed ON index_op;
DROP TRIGGER index_op_added ON index_op;
DROP FUNCTION index_op_confirmed();
DROP FUNCTION index_op_removed();
DROP FUNCTION index_op_added();
DROP TABLE index_sight;
