"""The store's tables in terms of names: what two stores must have in common."""

from datetime import UTC, datetime
from typing import Any

from headwater.openlineage.times import FOREVER as _FOREVER
from headwater.server.store.contents import read_fields, read_mapping
from headwater.server.store.database import Session, open_database
from server.events import minute

FOREVER = "forever"

_NAMED = "JOIN dataset d ON d.id = t.dataset JOIN namespace n ON n.id = d.namespace"
_EDGE = (
    "SELECT j.name, t.io, n.name, d.name, t.since, t.until "
    f"FROM edge t {_NAMED} JOIN job j ON j.id = t.job"
)
_SCHEMA = (
    "SELECT n.name, d.name, t.io, t.since, t.until, s.fields "
    f"FROM schema_span t {_NAMED} JOIN schema s ON s.id = t.schema"
)
_MAPPING = (
    "SELECT n.name, d.name, j.name, t.since, t.until, m.body FROM mapping_span t "
    f"{_NAMED} JOIN mapping m ON m.id = t.mapping LEFT JOIN job j ON j.id = t.job"
)


def when(at: float) -> str:
    """A minute as tables are read here."""
    return minute(at)


def rows(store_url: str, table: str) -> set[tuple[Any, ...]]:
    """The rows of a table of spans, with names for ids."""
    database = open_database(store_url)
    try:
        with database.reading() as session:
            return read_rows(session, table)
    finally:
        database.close()


def read_rows(session: Session, table: str) -> set[tuple[Any, ...]]:
    """The rows of a table of spans, with names for ids."""
    if table == "edge":
        found = session.all(_EDGE)
        return {(j, io, f"{n}:{d}", _time(a), _time(b)) for j, io, n, d, a, b in found}
    if table == "schema_span":
        found = session.all(_SCHEMA)
        return {
            (f"{n}:{d}", io, _time(a), _time(b), tuple(field.name for field in read_fields(body)))
            for n, d, io, a, b, body in found
        }
    names = {row[0]: f"{row[1]}:{row[2]}" for row in session.all(
        "SELECT d.id, n.name, d.name FROM dataset d JOIN namespace n ON n.id = d.namespace"
    )}  # fmt: skip
    return {
        (f"{n}:{d}", job, _time(a), _time(b), _told(body, names))
        for n, d, job, a, b, body in session.all(_MAPPING)
    }


def _told(body: bytes, names: dict[int, str]) -> str:
    mapping = read_mapping(body)
    fields = [
        (o.field, o.description, o.type, [(names[i.dataset], i.field, i.steps) for i in o.inputs])
        for o in mapping.outputs
    ]
    return repr((fields, [(names[i.dataset], i.field, i.steps) for i in mapping.dataset]))


def _time(moment: int) -> str:
    if moment == _FOREVER:
        return FOREVER
    text = datetime.fromtimestamp(moment / 1_000_000, UTC).isoformat()
    return text.replace("+00:00", "Z")
