"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# SQLite counts up only in a column whose type is exactly INTEGER.
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _create_tables()
    op.execute("INSERT INTO clock (id, generation) VALUES (1, 0)")
    _create_search()


def _create_search() -> None:
    """An index of trigrams where the database has one, else a plain table."""
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE search USING fts5("
            "text, kind UNINDEXED, target UNINDEXED, tokenize = 'trigram')"
        )
        return
    op.execute(
        "CREATE TABLE search (text TEXT NOT NULL, kind TEXT NOT NULL, target BIGINT NOT NULL)"
    )
    has_trigrams = bind.exec_driver_sql(
        "SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'"
    ).first()
    if has_trigrams:
        op.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        op.execute("CREATE INDEX search_text ON search USING gin (lower(text) gin_trgm_ops)")


def _create_tables() -> None:
    op.create_table(
        "alias",
        sa.Column("a", sa.BigInteger(), nullable=False),
        sa.Column("b", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("a", "b"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "clock",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "edge",
        sa.Column("job", sa.BigInteger(), nullable=False),
        sa.Column("io", sa.SmallInteger(), nullable=False),
        sa.Column("dataset", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job", "io", "dataset", "since"),
        sqlite_with_rowid=False,
    )
    op.create_index("edge_dataset", "edge", ["dataset", "io", "until"], unique=False)
    op.create_table(
        "event",
        sa.Column("seq", ID, nullable=False),
        sa.Column("digest", sa.LargeBinary(length=16), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("run", sa.BigInteger(), nullable=True),
        sa.Column("job", sa.BigInteger(), nullable=True),
        sa.Column("base", sa.BigInteger(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("digest"),
    )
    op.create_index("event_run", "event", ["run"], unique=False)
    op.create_index("event_time", "event", ["time", "seq"], unique=False)
    op.create_table(
        "field_name",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "mapping",
        sa.Column("id", ID, nullable=False),
        sa.Column("digest", sa.LargeBinary(length=16), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "mapping_input",
        sa.Column("dataset", sa.BigInteger(), nullable=False),
        sa.Column("mapping", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("dataset", "mapping"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "mapping_span",
        sa.Column("dataset", sa.BigInteger(), nullable=False),
        sa.Column("job", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("mapping", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("dataset", "job", "since"),
        sqlite_with_rowid=False,
    )
    op.create_index("mapping_span_mapping", "mapping_span", ["mapping"], unique=False)
    op.create_table(
        "namespace",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("hidden", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "run",
        sa.Column("id", ID, nullable=False),
        sa.Column("uuid", sa.LargeBinary(length=16), nullable=False),
        sa.Column("job", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("ending", sa.SmallInteger(), nullable=True),
        sa.Column("own", sa.Boolean(), nullable=False),
        sa.Column("parent", sa.BigInteger(), nullable=True),
        sa.Column("nominal_start", sa.BigInteger(), nullable=True),
        sa.Column("nominal_end", sa.BigInteger(), nullable=True),
        sa.Column("in_since", sa.BigInteger(), nullable=True),
        sa.Column("out_since", sa.BigInteger(), nullable=True),
        sa.Column("version", sa.LargeBinary(length=16), nullable=True),
        sa.Column("lease", sa.BigInteger(), nullable=True),
        sa.Column("heard_at", sa.BigInteger(), nullable=False),
        sa.Column("lapsed_at", sa.BigInteger(), nullable=True),
        sa.Column("deadline", sa.BigInteger(), nullable=True),
        sa.Column("args", sa.Text(), nullable=True),
        sa.Column("facets", sa.LargeBinary(), nullable=False),
        sa.Column("job_facets", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("uuid"),
    )
    op.create_index(
        "run_deadline",
        "run",
        ["deadline"],
        unique=False,
        sqlite_where=sa.text("deadline IS NOT NULL"),
        postgresql_where=sa.text("deadline IS NOT NULL"),
    )
    op.create_index("run_job", "run", ["job", "created_at"], unique=False)
    op.create_index("run_parent", "run", ["parent"], unique=False)
    op.create_table(
        "run_io",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("io", sa.SmallInteger(), nullable=False),
        sa.Column("dataset", sa.BigInteger(), nullable=False),
        sa.Column("schema", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("facets", sa.LargeBinary(), nullable=False),
        sa.Column("own", sa.LargeBinary(), nullable=False),
        sa.Column("version", sa.LargeBinary(length=16), nullable=True),
        sa.PrimaryKeyConstraint("run", "io", "dataset", "schema"),
        sqlite_with_rowid=False,
    )
    op.create_index("run_io_dataset", "run_io", ["dataset", "io", "since"], unique=False)
    op.create_index(
        "run_io_version",
        "run_io",
        ["version"],
        unique=False,
        sqlite_where=sa.text("version IS NOT NULL"),
        postgresql_where=sa.text("version IS NOT NULL"),
    )
    op.create_table(
        "schema",
        sa.Column("id", ID, nullable=False),
        sa.Column("digest", sa.LargeBinary(length=16), nullable=False),
        sa.Column("fields", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "schema_field",
        sa.Column("name", sa.BigInteger(), nullable=False),
        sa.Column("schema", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", "schema"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "schema_span",
        sa.Column("dataset", sa.BigInteger(), nullable=False),
        sa.Column("io", sa.SmallInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("schema", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("dataset", "io", "since"),
        sqlite_with_rowid=False,
    )
    op.create_index("schema_span_schema", "schema_span", ["schema"], unique=False)
    op.create_table(
        "source",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("url_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tag",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tagging",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("target", sa.BigInteger(), nullable=False),
        sa.Column("field", sa.Text(), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "target", "field", "tag"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "touch",
        sa.Column("dataset", sa.BigInteger(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("tie", sa.BigInteger(), nullable=False),
        sa.Column("io", sa.SmallInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("job", sa.BigInteger(), nullable=True),
        sa.Column("run", sa.BigInteger(), nullable=True),
        sa.Column("schema", sa.BigInteger(), nullable=True),
        sa.Column("mapping", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("dataset", "time", "tie", "io"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "dataset",
        sa.Column("id", ID, nullable=False),
        sa.Column("namespace", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("root", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.SmallInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("hidden", sa.Boolean(), nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("lifecycle", sa.Text(), nullable=False),
        sa.Column("facets", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace"],
            ["namespace.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("dataset_name", "dataset", ["namespace", "name"], unique=True)
    op.create_index("dataset_root", "dataset", ["root"], unique=False)
    op.create_table(
        "job",
        sa.Column("id", ID, nullable=False),
        sa.Column("namespace", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("hidden", sa.Boolean(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("location", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("parent", sa.BigInteger(), nullable=True),
        sa.Column("parent_at", sa.BigInteger(), nullable=False),
        sa.Column("in_run", sa.BigInteger(), nullable=True),
        sa.Column("in_since", sa.BigInteger(), nullable=True),
        sa.Column("in_seen", sa.BigInteger(), nullable=False),
        sa.Column("out_run", sa.BigInteger(), nullable=True),
        sa.Column("out_since", sa.BigInteger(), nullable=True),
        sa.Column("out_seen", sa.BigInteger(), nullable=False),
        sa.Column("facets", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace"],
            ["namespace.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("job_name", "job", ["namespace", "name"], unique=True)
    op.create_index("job_parent", "job", ["parent"], unique=False)
    op.create_index("job_updated", "job", ["updated_at"], unique=False)
