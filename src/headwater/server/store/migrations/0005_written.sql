-- Whether an output holds data. 1: data was reported; -1: the run failed and reported none, so that
-- it is no current version of its dataset; 0: not known.
ALTER TABLE run_io ADD COLUMN written SMALLINT NOT NULL DEFAULT 0;
