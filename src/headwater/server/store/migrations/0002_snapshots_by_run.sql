-- Which snapshots a table's runs told of.
CREATE INDEX IF NOT EXISTS snapshot_run ON snapshot (run, seq);
