-- +goose Up
-- The Merkle tree over the records (RFC 6962), kept so that proofs need not read
-- them all. An index, not evidence: it can be made again from the records.
CREATE TABLE audit_tree (
    seq    BIGINT PRIMARY KEY,
    hashes BYTEA  NOT NULL -- of the subtrees that this record completes, smallest first, 32 bytes each
);

-- The newest checkpoint of each key that signs, as it was signed.
CREATE TABLE audit_signed (
    key  TEXT   PRIMARY KEY, -- fingerprint
    n    BIGINT NOT NULL,    -- records it covers
    note TEXT   NOT NULL
);

-- +goose Down
DROP TABLE audit_signed;
DROP TABLE audit_tree;
