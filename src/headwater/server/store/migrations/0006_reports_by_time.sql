-- The reports of a run in order of time: the one on an offset is found without reading all of them.
CREATE INDEX IF NOT EXISTS event_run_time ON event (run, time, seq);
DROP INDEX IF EXISTS event_run;
