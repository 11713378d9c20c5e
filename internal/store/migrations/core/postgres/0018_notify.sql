-- +goose Up
-- Notices go to one receiver: what was told of an account, and what is to be sent.
DROP TABLE notice;
DROP TABLE notify_rule;
CREATE TABLE notify (
    scope TEXT PRIMARY KEY, -- base_url and account
    state TEXT NOT NULL     -- JSON: notify.State; no secrets
);
