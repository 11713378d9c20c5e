-- +goose Up
CREATE TABLE unsettled (
    ref        TEXT    PRIMARY KEY, -- uid of the intent in the audit trail
    context    TEXT    NOT NULL,    -- base_url and account: whose write it is
    object_id  TEXT    NOT NULL,    -- opid, cuid
    state      TEXT    NOT NULL,    -- sending, unknown, not_seen
    body       TEXT    NOT NULL,    -- JSON: what it is and what would prove it; no secrets
    sent_us    INTEGER NOT NULL,     -- the store's time, as are all of these
    looked_us  INTEGER NOT NULL DEFAULT 0,
    next_us    INTEGER NOT NULL,
    looks      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX unsettled_next ON unsettled (context, next_us);

-- +goose Down
DROP TABLE unsettled;
