-- The parent run that a run's first event names, unless it is a streaming job: what runs of one job
-- with the same one read and write adds up.
ALTER TABLE run ADD COLUMN first_parent {bytes};
CREATE INDEX IF NOT EXISTS run_first_parent ON run (first_parent, job) WHERE first_parent IS NOT NULL;

-- A job may write a dataset by several mappings at the same time.
CREATE TABLE mapping_spans (
    dataset BIGINT NOT NULL,
    job BIGINT NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT NOT NULL,
    mapping BIGINT NOT NULL,
    PRIMARY KEY (dataset, job, since, mapping)
) {by_key};
INSERT INTO mapping_spans (dataset, job, since, until, mapping)
SELECT dataset, job, since, until, mapping FROM mapping_span;
DROP TABLE mapping_span;
ALTER TABLE mapping_spans RENAME TO mapping_span;
CREATE INDEX IF NOT EXISTS mapping_span_mapping ON mapping_span (mapping);
CREATE INDEX IF NOT EXISTS mapping_span_since ON mapping_span (since);
