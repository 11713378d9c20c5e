-- +goose Up
-- JSON: which routes accepted the pair, and which refuse what others accept.
ALTER TABLE session ADD COLUMN routes TEXT NOT NULL DEFAULT '[]';
