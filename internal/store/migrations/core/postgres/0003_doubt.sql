-- +goose Up
-- claim names what no other write may do while this one is in doubt: it is taken in the
-- transaction that stores "sending". until_us: from when on it is looked for no longer.
ALTER TABLE unsettled ADD COLUMN claim TEXT NOT NULL DEFAULT '';
ALTER TABLE unsettled ADD COLUMN until_us BIGINT NOT NULL DEFAULT 0;
UPDATE unsettled SET until_us = sent_us + 900000000;
CREATE UNIQUE INDEX unsettled_claim ON unsettled (context, claim) WHERE claim <> '';
