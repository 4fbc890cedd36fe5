"""The scripts make the tables that the code writes to."""

from headwater.server.store.database import Session, open_database
from headwater.server.store.migrate import migrate
from headwater.server.store.tables import TABLES


def test_rows_are_written_as_the_tables_are_made(store_url: str) -> None:
    database = open_database(store_url)
    migrate(database)
    with database.reading() as session:
        made = {name: _columns(session, name) for name in TABLES}
    database.close()
    assert made == {name: table.columns for name, table in TABLES.items()}


def test_migrating_twice_changes_nothing(store_url: str) -> None:
    database = open_database(store_url)
    seen = []
    for _ in range(2):
        migrate(database)
        with database.reading() as session:
            seen.append((session.all("SELECT * FROM clock"), _versions(session)))
    database.close()
    assert len(seen[0][0]) == 1
    assert seen[0][1] == [1, 2]
    assert seen[0] == seen[1]


def test_older_store_is_brought_up(store_url: str) -> None:
    database = open_database(store_url)
    migrate(database)
    with database.writing() as session:
        session.run("DROP INDEX snapshot_run")
        session.run("DELETE FROM migration WHERE version > 1")
    migrate(database)
    with database.writing() as session:
        assert _versions(session) == [1, 2]
        session.run("DROP INDEX snapshot_run")  # which would fail if it were not there
    database.close()


def _versions(session: Session) -> list[int]:
    return [version for (version,) in session.all("SELECT version FROM migration ORDER BY version")]


def _columns(session: Session, table: str) -> tuple[str, ...]:
    asked = (
        "SELECT name FROM pragma_table_info(?) ORDER BY cid"
        if session.dialect == "sqlite"
        else "SELECT column_name FROM information_schema.columns WHERE table_name = ? "
        "AND table_schema = 'public' ORDER BY ordinal_position"
    )
    return tuple(name for (name,) in session.all(asked, table))
