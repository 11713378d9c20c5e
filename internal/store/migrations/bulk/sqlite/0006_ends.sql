-- +goose Up
-- The end of a text counts as two letters, so that every one or two letters of it
-- begin a term; and the terms, to look them up.
INSERT INTO index_words (index_words) VALUES ('delete-all');
INSERT INTO index_words (rowid, body) SELECT n, reference || comment || doc_text || char(2, 2) FROM index_op
    WHERE reference <> '' OR comment <> '' OR doc_text <> '';
INSERT INTO index_party_words (index_party_words) VALUES ('delete-all');
INSERT INTO index_party_words (rowid, body) SELECT n, body || ids || char(2, 2) FROM index_party WHERE body || ids <> '';
CREATE VIRTUAL TABLE index_words_terms USING fts5vocab (index_words, row);
CREATE VIRTUAL TABLE index_party_words_terms USING fts5vocab (index_party_words, row);

-- +goose Down
DROP TABLE index_party_words_terms;
DROP TABLE index_words_terms;
