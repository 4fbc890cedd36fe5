-- The tables of the store.
--
-- Events are kept whole; everything else is derived from them and could be made again.
-- Moments are microseconds. Rows speak of datasets by the name that was used (`dataset.id`);
-- names of one dataset share a `root`, the id of the name that is shown.

CREATE TABLE IF NOT EXISTS namespace (
    id {id},
    name TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    description TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    hidden BOOLEAN NOT NULL
);

CREATE TABLE IF NOT EXISTS source (
    name TEXT NOT NULL PRIMARY KEY,
    type TEXT NOT NULL,
    url TEXT,
    description TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    url_at BIGINT
) {by_key};

CREATE TABLE IF NOT EXISTS dataset (
    id {id},
    namespace BIGINT NOT NULL REFERENCES namespace (id),
    name TEXT NOT NULL,
    root BIGINT NOT NULL,
    -- 0: named by events itself; 1: only as another name of a dataset.
    rank SMALLINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    hidden BOOLEAN NOT NULL,
    source TEXT,
    description TEXT,
    lifecycle TEXT NOT NULL,
    facets {bytes} NOT NULL,
    -- Since when events name it, and since when one told its other names.
    named_at BIGINT NOT NULL,
    declared_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS dataset_name ON dataset (namespace, name);
CREATE INDEX IF NOT EXISTS dataset_root ON dataset (root);
CREATE INDEX IF NOT EXISTS dataset_shown ON dataset (namespace, name) WHERE id = root AND NOT hidden;

CREATE TABLE IF NOT EXISTS alias (
    a BIGINT NOT NULL,
    b BIGINT NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (a, b)
) {by_key};

CREATE TABLE IF NOT EXISTS job (
    id {id},
    namespace BIGINT NOT NULL REFERENCES namespace (id),
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    hidden BOOLEAN NOT NULL,
    type TEXT NOT NULL,
    labels TEXT NOT NULL,
    location TEXT,
    description TEXT,
    parent BIGINT,
    parent_at BIGINT NOT NULL,
    -- The run whose inputs, whose outputs are the job's now, since when, and the last moment
    -- at which any run of the job named one.
    in_run BIGINT,
    in_since BIGINT,
    in_seen BIGINT NOT NULL,
    out_run BIGINT,
    out_since BIGINT,
    out_seen BIGINT NOT NULL,
    facets {bytes} NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS job_name ON job (namespace, name);
CREATE INDEX IF NOT EXISTS job_parent ON job (parent);
CREATE INDEX IF NOT EXISTS job_updated ON job (updated_at);

CREATE TABLE IF NOT EXISTS run (
    id {id},
    uuid {bytes} NOT NULL UNIQUE,
    job BIGINT NOT NULL,
    -- The event that tells the run's job: its own first; before any, the first that names it.
    job_at BIGINT NOT NULL,
    job_tie BIGINT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    ending SMALLINT,
    own BOOLEAN NOT NULL,
    parent BIGINT,
    nominal_start BIGINT,
    nominal_end BIGINT,
    -- When the run first named an input, an output; where it ended without, its end.
    in_since BIGINT,
    out_since BIGINT,
    version {bytes},
    lease BIGINT,
    heard_at BIGINT NOT NULL,
    lapsed_at BIGINT,
    deadline BIGINT,
    args TEXT,
    facets {bytes} NOT NULL,
    job_facets {bytes} NOT NULL
);
CREATE INDEX IF NOT EXISTS run_deadline ON run (deadline) WHERE deadline IS NOT NULL;
CREATE INDEX IF NOT EXISTS run_job ON run (job, created_at);
CREATE INDEX IF NOT EXISTS run_parent ON run (parent);

CREATE TABLE IF NOT EXISTS event (
    seq {id},
    digest {bytes} NOT NULL UNIQUE,
    time BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    type TEXT NOT NULL,
    run BIGINT,
    job BIGINT,
    -- The body is compressed against that of an earlier event of its job, `base`.
    base BIGINT,
    body {bytes} NOT NULL
);
CREATE INDEX IF NOT EXISTS event_run ON event (run);
CREATE INDEX IF NOT EXISTS event_time ON event (time, seq);

-- One row: counts the writes, so that a server sees when another has written, and waits for it.
CREATE TABLE IF NOT EXISTS clock (
    id INTEGER PRIMARY KEY,
    generation BIGINT NOT NULL
);

-- What commits changed, for those who watch; the numbers of a row's entries end with its id.
CREATE TABLE IF NOT EXISTS feed (
    id {id},
    body {bytes} NOT NULL
);

-- The events that told of Iceberg snapshots.
CREATE TABLE IF NOT EXISTS snapshot (
    id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    run BIGINT NOT NULL,
    PRIMARY KEY (id, seq)
) {by_key};

-- Who may ask: of a key only its hash is kept.
CREATE TABLE IF NOT EXISTS api_key (
    id {id},
    hash {bytes} NOT NULL UNIQUE,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    namespace TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);

-- Whom to call, and how far in the feed each was told.
CREATE TABLE IF NOT EXISTS webhook (
    id {id},
    name TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    secret TEXT NOT NULL,
    kinds TEXT NOT NULL,
    node TEXT,
    position BIGINT NOT NULL,
    claimed_until BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

-- What admins did, and what was deleted.
CREATE TABLE IF NOT EXISTS audit (
    id {id},
    at BIGINT NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    detail TEXT NOT NULL
);

-- What one event said of one dataset.
CREATE TABLE IF NOT EXISTS touch (
    dataset BIGINT NOT NULL,
    time BIGINT NOT NULL,
    tie BIGINT NOT NULL,
    io SMALLINT NOT NULL,
    seq BIGINT NOT NULL,
    job BIGINT,
    run BIGINT,
    schema BIGINT,
    mapping BIGINT,
    PRIMARY KEY (dataset, time, tie, io)
) {by_key};

-- What one run read and wrote; an output with each schema is a version of its dataset.
CREATE TABLE IF NOT EXISTS run_io (
    run BIGINT NOT NULL,
    io SMALLINT NOT NULL,
    dataset BIGINT NOT NULL,
    schema BIGINT NOT NULL,
    since BIGINT NOT NULL,
    last BIGINT NOT NULL,
    facets {bytes} NOT NULL,
    own {bytes} NOT NULL,
    version {bytes},
    PRIMARY KEY (run, io, dataset, schema)
) {by_key};
CREATE INDEX IF NOT EXISTS run_io_dataset ON run_io (dataset, io, since);
CREATE INDEX IF NOT EXISTS run_io_version ON run_io (version) WHERE version IS NOT NULL;

-- A job reads or writes a dataset from `since` until `until`.
CREATE TABLE IF NOT EXISTS edge (
    job BIGINT NOT NULL,
    io SMALLINT NOT NULL,
    dataset BIGINT NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (job, io, dataset, since)
) {by_key};
CREATE INDEX IF NOT EXISTS edge_dataset ON edge (dataset, io, until);
CREATE INDEX IF NOT EXISTS edge_since ON edge (since);
CREATE INDEX IF NOT EXISTS edge_until ON edge (until);

CREATE TABLE IF NOT EXISTS schema (
    id {id},
    digest {bytes} NOT NULL UNIQUE,
    fields {bytes} NOT NULL
);

CREATE TABLE IF NOT EXISTS field_name (
    id {id},
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE IF NOT EXISTS schema_field (
    name BIGINT NOT NULL,
    schema BIGINT NOT NULL,
    PRIMARY KEY (name, schema)
) {by_key};

-- A dataset has a schema from `since` until `until`, by those who write it and who read it.
CREATE TABLE IF NOT EXISTS schema_span (
    dataset BIGINT NOT NULL,
    io SMALLINT NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT NOT NULL,
    schema BIGINT NOT NULL,
    PRIMARY KEY (dataset, io, since)
) {by_key};
CREATE INDEX IF NOT EXISTS schema_span_schema ON schema_span (schema);
CREATE INDEX IF NOT EXISTS schema_span_since ON schema_span (since);

-- The column lineage that a facet tells: output field → input fields.
CREATE TABLE IF NOT EXISTS mapping (
    id {id},
    digest {bytes} NOT NULL UNIQUE,
    body {bytes} NOT NULL
);

CREATE TABLE IF NOT EXISTS mapping_input (
    dataset BIGINT NOT NULL,
    mapping BIGINT NOT NULL,
    PRIMARY KEY (dataset, mapping)
) {by_key};

-- A job (0: none) writes a dataset by a mapping from `since` until `until`.
CREATE TABLE IF NOT EXISTS mapping_span (
    dataset BIGINT NOT NULL,
    job BIGINT NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT NOT NULL,
    mapping BIGINT NOT NULL,
    PRIMARY KEY (dataset, job, since)
) {by_key};
CREATE INDEX IF NOT EXISTS mapping_span_mapping ON mapping_span (mapping);
CREATE INDEX IF NOT EXISTS mapping_span_since ON mapping_span (since);

CREATE TABLE IF NOT EXISTS tag (
    name TEXT NOT NULL PRIMARY KEY,
    description TEXT
) {by_key};

-- Tags given through the API: to a dataset, to a field of it, or to a job.
CREATE TABLE IF NOT EXISTS tagging (
    kind TEXT NOT NULL,
    target BIGINT NOT NULL,
    field TEXT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (kind, target, field, tag)
) {by_key};

INSERT INTO clock (id, generation) VALUES (1, 0) ON CONFLICT DO NOTHING;
