-- The last result of each check of a dataset that events report in `dataQualityAssertions`. The key
-- is a digest of the job (none for dataset events), the assertion and the column.
CREATE TABLE IF NOT EXISTS quality_check (
    dataset BIGINT NOT NULL,
    key {bytes} NOT NULL,
    time BIGINT NOT NULL,
    tie BIGINT NOT NULL,
    success BOOLEAN NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (dataset, key)
) {by_key};

-- Tags of the last `tags` facet of a dataset and its fields, of a job or of a run.
CREATE TABLE IF NOT EXISTS facet_tag (
    kind TEXT NOT NULL,
    target BIGINT NOT NULL,
    field TEXT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (kind, target, field, tag)
) {by_key};

-- Columns that column lineage names, and the schemas of the same event do not.
CREATE TABLE IF NOT EXISTS mapped_field (
    dataset BIGINT NOT NULL,
    name BIGINT NOT NULL,
    PRIMARY KEY (dataset, name)
) {by_key};
CREATE INDEX IF NOT EXISTS mapped_field_name ON mapped_field (name);
