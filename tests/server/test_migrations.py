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
            seen.append(session.all("SELECT * FROM clock, migration"))
    database.close()
    assert len(seen[0]) == 1
    assert seen[0] == seen[1]


def _columns(session: Session, table: str) -> tuple[str, ...]:
    asked = (
        "SELECT name FROM pragma_table_info(?) ORDER BY cid"
        if session.dialect == "sqlite"
        else "SELECT column_name FROM information_schema.columns WHERE table_name = ? "
        "AND table_schema = 'public' ORDER BY ordinal_position"
    )
    return tuple(name for (name,) in session.all(asked, table))
