"""An index of trigrams for PostgreSQL, which needs no extension; SQLite has had one."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute(
        "CREATE FUNCTION headwater_grams(words text) RETURNS text[] LANGUAGE sql IMMUTABLE "
        "PARALLEL SAFE AS $$ SELECT array_agg(DISTINCT substr(words, i, 3)) "
        "FROM generate_series(1, greatest(length(words) - 2, 1)) i $$"
    )
    op.execute("DROP INDEX IF EXISTS search_text")
    op.execute("CREATE INDEX search_grams ON search USING gin (headwater_grams(lower(text)))")
