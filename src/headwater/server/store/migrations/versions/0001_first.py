"""The first tables."""

from alembic import op

from headwater.server.store.tables import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    bind = op.get_bind()
    metadata.create_all(bind)
    op.execute("INSERT INTO clock (id, generation) VALUES (1, 0)")
    if bind.dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE search USING fts5("
            "text, kind UNINDEXED, target UNINDEXED, tokenize = 'trigram')"
        )
    else:
        op.execute(
            "CREATE TABLE search (text TEXT NOT NULL, kind TEXT NOT NULL, target BIGINT NOT NULL)"
        )
        has_trigrams = bind.exec_driver_sql(
            "SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'"
        ).first()
        if has_trigrams:
            op.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            op.execute("CREATE INDEX search_text ON search USING gin (lower(text) gin_trgm_ops)")
