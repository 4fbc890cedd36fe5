"""The migrations make the tables that the code describes."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from headwater.server.store.database import open_database
from headwater.server.store.migrate import migrate, sqlalchemy_url
from headwater.server.store.tables import metadata


def test_migrations_and_tables_agree(store_url: str) -> None:
    database = open_database(store_url)
    migrate(database)
    database.close()
    engine = create_engine(sqlalchemy_url(store_url))
    with engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    engine.dispose()
    assert [d for d in differences if "search" not in str(d)] == []


def test_migrating_twice_changes_nothing(store_url: str) -> None:
    database = open_database(store_url)
    seen = []
    for _ in range(2):
        migrate(database)
        with database.reading() as session:
            seen.append(session.all("SELECT * FROM clock"))
    database.close()
    assert len(seen[0]) == 1
    assert seen[0] == seen[1]
