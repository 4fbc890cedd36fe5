"""The tables of the store.

Events are kept whole; everything else is derived from them and could be made again.
Moments are microseconds. Rows speak of datasets by the name that was used (`dataset.id`);
names of one dataset share a `root`, the id of the name that is shown.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    text,
)

metadata = MetaData()

# SQLite counts up only in a column whose type is exactly INTEGER.
Id = BigInteger().with_variant(Integer(), "sqlite")
Moment = BigInteger()

INPUT, OUTPUT, DECLARED = 0, 1, 2  # of an event's dataset: read, written, or simply described

namespace = Table(
    "namespace",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("owner", Text, nullable=False),
    Column("description", Text),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("hidden", Boolean, nullable=False),
)

source = Table(
    "source",
    metadata,
    Column("name", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("url", Text),
    Column("description", Text),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("url_at", Moment),
    sqlite_with_rowid=False,
)

dataset = Table(
    "dataset",
    metadata,
    Column("id", Id, primary_key=True),
    Column("namespace", ForeignKey("namespace.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("root", BigInteger, nullable=False),
    # 0: named by events itself; 1: only as another name of a dataset.
    Column("rank", SmallInteger, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("hidden", Boolean, nullable=False),
    Column("source", Text),
    Column("description", Text),
    Column("lifecycle", Text, nullable=False),
    Column("facets", LargeBinary, nullable=False),
    # Since when events name it, and since when one told its other names.
    Column("named_at", Moment, nullable=False),
    Column("declared_at", Moment, nullable=False),
    Index("dataset_name", "namespace", "name", unique=True),
    Index("dataset_root", "root"),
    Index(
        "dataset_shown",
        "namespace",
        "name",
        sqlite_where=text("id = root AND NOT hidden"),
        postgresql_where=text("id = root AND NOT hidden"),
    ),
)

alias = Table(
    "alias",
    metadata,
    Column("a", BigInteger, primary_key=True),
    Column("b", BigInteger, primary_key=True),
    Column("since", Moment, nullable=False),
    sqlite_with_rowid=False,
)

job = Table(
    "job",
    metadata,
    Column("id", Id, primary_key=True),
    Column("namespace", ForeignKey("namespace.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("hidden", Boolean, nullable=False),
    Column("type", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("location", Text),
    Column("description", Text),
    Column("parent", BigInteger),
    Column("parent_at", Moment, nullable=False),
    # The run whose inputs, whose outputs are the job's now, since when, and the last moment
    # at which any run of the job named one.
    Column("in_run", BigInteger),
    Column("in_since", Moment),
    Column("in_seen", Moment, nullable=False),
    Column("out_run", BigInteger),
    Column("out_since", Moment),
    Column("out_seen", Moment, nullable=False),
    Column("facets", LargeBinary, nullable=False),
    Index("job_name", "namespace", "name", unique=True),
    Index("job_parent", "parent"),
    Index("job_updated", "updated_at"),
)

run = Table(
    "run",
    metadata,
    Column("id", Id, primary_key=True),
    Column("uuid", LargeBinary(16), nullable=False, unique=True),
    Column("job", BigInteger, nullable=False),
    # The event that tells the run's job: its own first; before any, the first that names it.
    Column("job_at", Moment, nullable=False),
    Column("job_tie", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("ended_at", Moment),
    Column("ending", SmallInteger),
    Column("own", Boolean, nullable=False),
    Column("parent", BigInteger),
    Column("nominal_start", Moment),
    Column("nominal_end", Moment),
    # When the run first named an input, an output; where it ended without, its end.
    Column("in_since", Moment),
    Column("out_since", Moment),
    Column("version", LargeBinary(16)),
    Column("lease", BigInteger),
    Column("heard_at", Moment, nullable=False),
    Column("lapsed_at", Moment),
    Column("deadline", Moment),
    Column("args", Text),
    Column("facets", LargeBinary, nullable=False),
    Column("job_facets", LargeBinary, nullable=False),
    Index("run_job", "job", "created_at"),
    Index("run_parent", "parent"),
    Index("run_deadline", "deadline", sqlite_where=text("deadline IS NOT NULL"),
          postgresql_where=text("deadline IS NOT NULL")),
)  # fmt: skip

event = Table(
    "event",
    metadata,
    Column("seq", Id, primary_key=True),
    Column("digest", LargeBinary(16), nullable=False, unique=True),
    Column("time", Moment, nullable=False),
    Column("received_at", Moment, nullable=False),
    Column("type", Text, nullable=False),
    Column("run", BigInteger),
    Column("job", BigInteger),
    # The body is compressed against that of an earlier event of its job, `base`.
    Column("base", BigInteger),
    Column("body", LargeBinary, nullable=False),
    Index("event_time", "time", "seq"),
    Index("event_run", "run"),
)

# One row: counts the writes, so that a server sees when another has written, and waits for it.
clock = Table(
    "clock",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("generation", BigInteger, nullable=False),
)

# What commits changed, for those who watch; the numbers of a row's entries end with its id.
feed = Table(
    "feed",
    metadata,
    Column("id", Id, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

# The events that told of Iceberg snapshots.
snapshot = Table(
    "snapshot",
    metadata,
    Column("id", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("run", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Who may ask: of a key only its hash is kept.
api_key = Table(
    "api_key",
    metadata,
    Column("id", Id, primary_key=True),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("revoked_at", Moment),
)

# Whom to call, and how far in the feed each was told.
webhook = Table(
    "webhook",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("node", Text),
    Column("position", BigInteger, nullable=False),
    Column("claimed_until", Moment, nullable=False),
    Column("created_at", Moment, nullable=False),
)

# What admins did, and what was deleted.
audit = Table(
    "audit",
    metadata,
    Column("id", Id, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("who", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("detail", Text, nullable=False),
)

# What one event said of one dataset.
touch = Table(
    "touch",
    metadata,
    Column("dataset", BigInteger, primary_key=True),
    Column("time", Moment, primary_key=True),
    Column("tie", BigInteger, primary_key=True),
    Column("io", SmallInteger, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("job", BigInteger),
    Column("run", BigInteger),
    Column("schema", BigInteger),
    Column("mapping", BigInteger),
    sqlite_with_rowid=False,
)

# What one run read and wrote; an output with each schema is a version of its dataset.
run_io = Table(
    "run_io",
    metadata,
    Column("run", BigInteger, primary_key=True),
    Column("io", SmallInteger, primary_key=True),
    Column("dataset", BigInteger, primary_key=True),
    Column("schema", BigInteger, primary_key=True),
    Column("since", Moment, nullable=False),
    Column("last", Moment, nullable=False),
    Column("facets", LargeBinary, nullable=False),
    Column("own", LargeBinary, nullable=False),
    Column("version", LargeBinary(16)),
    Index("run_io_dataset", "dataset", "io", "since"),
    Index(
        "run_io_version",
        "version",
        sqlite_where=text("version IS NOT NULL"),
        postgresql_where=text("version IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)

# A job reads or writes a dataset from `since` until `until`.
edge = Table(
    "edge",
    metadata,
    Column("job", BigInteger, primary_key=True),
    Column("io", SmallInteger, primary_key=True),
    Column("dataset", BigInteger, primary_key=True),
    Column("since", Moment, primary_key=True),
    Column("until", Moment, nullable=False),
    Index("edge_dataset", "dataset", "io", "until"),
    Index("edge_since", "since"),
    Index("edge_until", "until"),
    sqlite_with_rowid=False,
)

schema = Table(
    "schema",
    metadata,
    Column("id", Id, primary_key=True),
    Column("digest", LargeBinary(16), nullable=False, unique=True),
    Column("fields", LargeBinary, nullable=False),
)

field_name = Table(
    "field_name",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
)

schema_field = Table(
    "schema_field",
    metadata,
    Column("name", BigInteger, primary_key=True),
    Column("schema", BigInteger, primary_key=True),
    sqlite_with_rowid=False,
)

# A dataset has a schema from `since` until `until`, by those who write it and who read it.
schema_span = Table(
    "schema_span",
    metadata,
    Column("dataset", BigInteger, primary_key=True),
    Column("io", SmallInteger, primary_key=True),
    Column("since", Moment, primary_key=True),
    Column("until", Moment, nullable=False),
    Column("schema", BigInteger, nullable=False),
    Index("schema_span_schema", "schema"),
    Index("schema_span_since", "since"),
    sqlite_with_rowid=False,
)

# The column lineage that a facet tells: output field → input fields.
mapping = Table(
    "mapping",
    metadata,
    Column("id", Id, primary_key=True),
    Column("digest", LargeBinary(16), nullable=False, unique=True),
    Column("body", LargeBinary, nullable=False),
)

mapping_input = Table(
    "mapping_input",
    metadata,
    Column("dataset", BigInteger, primary_key=True),
    Column("mapping", BigInteger, primary_key=True),
    sqlite_with_rowid=False,
)

# A job (0: none) writes a dataset by a mapping from `since` until `until`.
mapping_span = Table(
    "mapping_span",
    metadata,
    Column("dataset", BigInteger, primary_key=True),
    Column("job", BigInteger, primary_key=True),
    Column("since", Moment, primary_key=True),
    Column("until", Moment, nullable=False),
    Column("mapping", BigInteger, nullable=False),
    Index("mapping_span_mapping", "mapping"),
    Index("mapping_span_since", "since"),
    sqlite_with_rowid=False,
)

tag = Table(
    "tag",
    metadata,
    Column("name", Text, primary_key=True),
    Column("description", Text),
    sqlite_with_rowid=False,
)

# Tags given through the API: to a dataset, to a field of it, or to a job.
tagging = Table(
    "tagging",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("target", BigInteger, primary_key=True),
    Column("field", Text, primary_key=True),
    Column("tag", Text, primary_key=True),
    sqlite_with_rowid=False,
)
