-- Events dated in the future: they are stored, and applied when their time comes.
CREATE TABLE IF NOT EXISTS deferred (
    time BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (time, seq)
) {by_key};

-- Counts the deletions of events that others may be compressed against: a server whose count
-- differs forgets the ones it has at hand.
ALTER TABLE clock ADD COLUMN pruned BIGINT NOT NULL DEFAULT 0;

-- The runs of all jobs, latest first.
CREATE INDEX IF NOT EXISTS run_created ON run (created_at, uuid);
