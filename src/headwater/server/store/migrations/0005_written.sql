-- Whether an output holds data. 1: data was reported; -1: the run failed and reported none, so that
-- it is no current version of its dataset; 0: not known.
ALTER TABLE run_io ADD COLUMN written SMALLINT NOT NULL DEFAULT 0;

-- The reports of a run in order of time: the one on an offset is found without reading all of them.
CREATE INDEX IF NOT EXISTS event_run_time ON event (run, time, seq);
DROP INDEX IF EXISTS event_run;
