-- A name that says what it is. Servers of the version before, which store nothing from now on,
-- still read the table under its old name.
ALTER TABLE touch RENAME TO dataset_observation;
CREATE VIEW touch AS
SELECT dataset, time, tie, io, seq, job, run, schema, mapping FROM dataset_observation
