"""A store of every released schema is upgraded, with what is in it; a newer one is refused."""

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import StoreTooNew, UpgradeBlocked
from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store import migrate as migrations
from headwater.server.store.aliases import AliasRules
from headwater.server.store.database import Database, Session, open_database
from headwater.server.store.log import read_bodies
from headwater.server.store.migrate import NEWEST, migrate
from headwater.server.store.store import Store
from headwater.server.store.tables import TABLES
from server.events import as_bytes, run_event
from server.snapshot import differences, snapshot
from server.stores import KINDS, Stores

_RELEASES = Path(__file__).parent / "releases"
_SCRIPTS = Path(migrations.__file__).parent / "migrations"
# A script that was released is never changed: stores have been upgraded by it.
_RELEASED = {
    "0001_tables.postgresql.sql": "f14cc8bc3506f9aaeb99",
    "0001_tables.sql": "68eda240457d95b00d58",
    "0001_tables.sqlite.sql": "0451453dc69e7991c64f",
    "0002_snapshots_by_run.sql": "0ebecb8b019966486602",
}


def _rows_of(schema: int) -> dict[str, Any]:
    """The rows that a release wrote with a schema, or with the next older one that is at hand.

    Schema 1 differs from 2 by an index only.
    """
    kept = [path for path in _RELEASES.glob("schema_*") if int(path.name[7:-8]) <= max(schema, 2)]
    path = max(kept, key=lambda path: int(path.name[7:-8]))
    tables: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))["tables"]
    if schema >= 8:
        tables["dataset_observation"] = tables.pop("touch")
    return tables


def _fill(database: Database, schema: int) -> None:
    """Make the tables of a release, with rows that it wrote."""
    migrate(database, schema)
    with database.writing() as session:
        session.run("DELETE FROM clock")
        for table, told in sorted(
            _rows_of(schema).items(), key=lambda item: item[0] != "namespace"
        ):
            columns, kinds = told["columns"], _kinds(session, table)
            sql = (
                f"INSERT INTO {table} ({', '.join(columns)}) "
                f"VALUES ({', '.join('?' * len(columns))})"
            )
            for row in told["rows"]:
                values = [_value(v, kinds.get(c)) for c, v in zip(columns, row, strict=True)]
                session.run(sql, *values)
        for version, fill in migrations.FILLS.items():
            if version <= schema:  # the rows are of an older release
                fill(session)


def _value(value: Any, kind: str | None) -> Any:
    if isinstance(value, dict):
        return base64.b64decode(value["bytes"])
    return bool(value) if kind == "boolean" and value is not None else value


def _kinds(session: Session, table: str) -> dict[str, str]:
    if session.dialect == "sqlite":
        return {}
    asked = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = ?"
    return dict(session.all(asked, table))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("schema", range(1, NEWEST))
def test_a_store_of_every_released_schema_is_upgraded(
    stores: Stores, kind: str, schema: int
) -> None:
    """The same answers as from a store of today with the same events, and it goes on."""
    url, fresh = stores.new_empty(kind), stores.new(kind)
    database = open_database(url)
    _fill(database, schema)
    database.close()
    upgraded, expected = (Store(one, AliasRules(DEFAULT_ALIASES)) for one in (url, fresh))
    try:
        with upgraded.database.reading() as session:
            assert _versions(session) == [*range(1, NEWEST + 1)]
            seqs = [seq for (seq,) in session.all("SELECT seq FROM event ORDER BY seq")]
            bodies = read_bodies(session, seqs)
        for store in (upgraded, expected):
            events = [store.read(bodies[seq]) for seq in seqs]
            stored = store.ingest([*events, store.read(as_bytes(run_event(at=100)))]).result()
            assert stored == (1 if store is upgraded else len(seqs) + 1)
        lines = differences(snapshot(expected), snapshot(upgraded))
        assert not lines, "\n".join(lines[:12])
    finally:
        upgraded.close()
        expected.close()
        stores.drop(url)
        stores.drop(fresh)


def test_a_released_script_is_never_changed() -> None:
    found = {
        name: hashlib.sha256((_SCRIPTS / name).read_bytes()).hexdigest()[:20] for name in _RELEASED
    }
    assert found == _RELEASED


def test_a_store_of_a_newer_schema_is_refused_with_what_to_do(store_url: str) -> None:
    database = open_database(store_url)
    with database.writing() as session:
        session.run("INSERT INTO migration VALUES (?)", NEWEST + 7)
    database.close()
    with pytest.raises(StoreTooNew) as refused:
        Store(store_url, AliasRules(()))
    assert f"schema {NEWEST + 7}" in refused.value.message
    assert "Upgrade Headwater" in refused.value.hint


def test_a_start_behind_one_that_hangs_says_so_and_ends(
    stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    url = stores.new("postgresql")
    database = open_database(url)
    try:
        with database.writing() as hanging:
            hanging.all("SELECT pg_advisory_xact_lock(4846217)")
            with pytest.raises(UpgradeBlocked) as blocked:
                migrate(database, patience=4)
        assert "another server" in blocked.value.message
        assert [record.getMessage().partition(" postgres")[0] for record in caplog.records] == [
            "waiting for another server that starts on or upgrades"
        ]
        migrate(database)
    finally:
        database.close()
        stores.drop(url)


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
    assert seen[0][1] == [*range(1, NEWEST + 1)]
    assert seen[0] == seen[1]


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
