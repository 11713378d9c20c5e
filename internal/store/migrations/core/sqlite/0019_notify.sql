-- +goose Up
-- The state of notices has another form: what is told begins anew.
DELETE FROM notify;
