"""The tables that rows are written to as a whole, and the statements that do it.

The tables themselves are made by the scripts in `migrations`.
"""

from typing import NamedTuple

from msgspec import Struct

from headwater.server.store.rows import DatasetRow, JobRow, RunIoRow, RunRow

INPUT, OUTPUT, DECLARED = 0, 1, 2  # of an event's dataset: read, written, or simply described
MAPPED = 3  # read as the lineage facets of an output tell, and not named as an input


class Table(NamedTuple):
    """A table, its columns in order, and which of them are its key."""

    name: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]


def _table(name: str, keys: str, rest: str = "") -> Table:
    return Table(name, (*keys.split(), *rest.split()), (*keys.split(),))


def _of(name: str, rows: type[Struct], *keys: str) -> Table:
    return Table(name, rows.__struct_encode_fields__, keys)


TABLES = {
    table.name: table
    for table in (
        _of("dataset", DatasetRow, "id"),
        _of("job", JobRow, "id"),
        _of("run", RunRow, "id"),
        _of("run_io", RunIoRow, "run", "io", "dataset", "schema"),
        _table("namespace", "id", "name owner description created_at updated_at hidden"),
        _table("source", "name", "type url description created_at updated_at url_at"),
        _table("event", "seq", "digest time received_at type run job base body"),
        _table("dataset_observation", "dataset time tie io", "seq job run schema mapping"),
        _table("schema", "id", "digest fields"),
        _table("field_name", "id", "name"),
        _table("schema_field", "name schema"),
        _table("mapping", "id", "digest body"),
        _table("mapping_input", "dataset mapping"),
        _table("edge", "job io dataset since", "until"),
        _table("alias", "a b", "since"),
        _table("snapshot", "id seq", "run namespaces"),
        _table("feed", "id", "body"),
        _table("deferred", "time seq", "namespaces"),
        _table("quality_check", "dataset key", "time tie success body"),
        _table("mapped_field", "dataset name"),
        _table("facet_tag", "kind target field tag"),
        _table("tagging", "kind target field tag"),
    )
}


def select(name: str) -> str:
    """The beginning of a statement that reads whole rows."""
    return f"SELECT {', '.join(TABLES[name].columns)} FROM {name}"


def insert(name: str) -> str:
    """A statement that adds a row."""
    columns = TABLES[name].columns
    return f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def add(name: str) -> str:
    """A statement that adds a row unless it is there."""
    return insert(name) + " ON CONFLICT DO NOTHING"


def upsert(name: str, *fixed: str) -> str:
    """A statement that adds a row, or writes it over what is there but for what is fixed.

    SQLite writes every index anew that holds a column which is set, changed or not.
    """
    _, columns, keys = TABLES[name]
    sets = ", ".join(f"{c} = excluded.{c}" for c in columns if c not in {*keys, *fixed})
    return f"{insert(name)} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sets}"
