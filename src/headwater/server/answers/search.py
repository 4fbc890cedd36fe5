"""Finds jobs, datasets and columns by a part of their name."""

from typing import Any, NamedTuple

from headwater.model.names import DatasetName, FieldName, JobName
from headwater.server.answers.reading import Reading, moment
from headwater.server.answers.shapes import SearchResult

_LEAST = 3  # characters that the index of trigrams can look up


class Wanted(NamedTuple):
    """What is searched for."""

    text: str
    kind: str | None = None
    namespace: str | None = None
    after: int | None = None
    before: int | None = None
    by_name: bool = False


_DATASETS = (
    "SELECT n.name, d.name, d.updated_at FROM dataset d JOIN namespace n ON n.id = d.namespace "
    "WHERE d.id = ANY(?) AND d.id = d.root AND NOT d.hidden"
)
_JOBS = (
    "SELECT n.name, d.name, d.updated_at FROM job d JOIN namespace n ON n.id = d.namespace "
    "WHERE d.id = ANY(?) AND NOT d.hidden"
)
_NAMED = {"DATASET": ("D", _DATASETS), "JOB": ("J", _JOBS)}


def search(reading: Reading, wanted: Wanted, limit: int) -> tuple[list[SearchResult], int]:
    """What matches, best first, and how much there is; at most a page of each kind is read."""
    kinds = [wanted.kind] if wanted.kind else ["DATASET", "JOB"]
    found: list[SearchResult] = []
    for kind in kinds:
        if kind == "FIELD":
            found += _fields(reading, wanted, limit)
        else:
            found += _named(reading, kind, wanted, limit)
    text = wanted.text.lower()
    found.sort(key=lambda r: (_distance(text, r.field or r.name), r.name, r.namespace))
    if not wanted.by_name and wanted.kind != "FIELD":
        found.sort(key=lambda r: r.updated_at, reverse=True)
        found.sort(key=lambda r: _distance(text, r.name))
    return found[:limit], len(found)


def _distance(text: str, name: str) -> int:
    """0 where the name is the text, 1 where it begins with it, else 2."""
    name = name.lower()
    return 0 if name == text else 1 if name.startswith(text) else 2


def _matches(reading: Reading, kind: str, text: str, most: int) -> list[int]:
    pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    is_sqlite = reading.session.__class__.__name__ == "SqliteSession"
    if is_sqlite and len(text) >= _LEAST:
        phrase = '"' + text.replace('"', '""') + '"'
        rows = reading.session.all(
            "SELECT target FROM search WHERE search MATCH ? AND kind = ? LIMIT ?",
            phrase, kind, most,
        )  # fmt: skip
    else:
        rows = reading.session.all(
            "SELECT target FROM search WHERE lower(text) LIKE ? ESCAPE '\\' AND kind = ? LIMIT ?",
            pattern.lower(), kind, most,
        )  # fmt: skip
    return [int(row[0]) for row in rows]


def _named(reading: Reading, kind: str, wanted: Wanted, limit: int) -> list[SearchResult]:
    letter, sql = _NAMED[kind]
    most = max(limit, 1000)
    sql, params = _narrowed(sql, wanted)
    rows = reading.session.all(sql, _matches(reading, letter, wanted.text, most), *params)
    name = DatasetName if kind == "DATASET" else JobName
    return [
        SearchResult(kind, row[1], moment(row[2]), row[0], str(name(row[0], row[1])))
        for row in rows
    ]


def _narrowed(sql: str, wanted: Wanted) -> tuple[str, list[Any]]:
    params: list[Any] = []
    for value, clause in (
        (wanted.namespace, " AND n.name = ?"),
        (wanted.after, " AND d.updated_at >= ?"),
        (wanted.before, " AND d.updated_at < ?"),
    ):
        if value is not None:
            sql += clause
            params.append(value)
    return sql, params


def _fields(reading: Reading, wanted: Wanted, limit: int) -> list[SearchResult]:
    """Columns: by their name, then the schemas that have it, then the datasets of these."""
    sql, params = _narrowed(
        "SELECT DISTINCT n.name, d.name, d.updated_at, f.name FROM field_name f "
        "JOIN schema_field sf ON sf.name = f.id JOIN schema_span s ON s.schema = sf.schema "
        "AND s.since <= ? AND s.until > ? JOIN dataset m ON m.id = s.dataset "
        "JOIN dataset d ON d.id = m.root JOIN namespace n ON n.id = d.namespace "
        "WHERE f.id = ANY(?) AND NOT d.hidden", wanted,
    )  # fmt: skip
    ids = _matches(reading, "F", wanted.text, max(limit, 200))
    rows = reading.session.all(f"{sql} LIMIT ?", reading.at, reading.at, ids, *params, limit)
    return [
        SearchResult(
            "FIELD", row[1], moment(row[2]), row[0], str(FieldName(row[0], row[1], row[3])), row[3]
        )
        for row in rows
    ]
