"""The inputs of the columns of datasets, as the jobs that write them tell.

What is written of a dataset is kept by all that it was written from, as nodes of graphs are.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from headwater.api.datasets import ColumnLineage, InputField
from headwater.server.lineage.encoding import encode_answer
from headwater.server.lineage.indexed_mapping import IndexedMapping
from headwater.server.lineage.mappings import datasets_read
from headwater.server.lineage.metering import pack
from headwater.server.lineage.schemas import Unlisted, schema_ids, unlisted_columns
from headwater.server.lineage.view import StoreView


class _Columns(NamedTuple):
    """The columns that a dataset has: any, where it has no schema."""

    schema: int | None
    unlisted: tuple[str, ...]


class _Source(NamedTuple):
    """An input, by the name that is shown."""

    root: int
    namespace: str
    name: str
    columns: _Columns


class _Writer(NamedTuple):
    """A mapping that feeds a dataset, with those of its inputs that count."""

    mapping: int
    sources: tuple[tuple[int, _Source], ...]


def column_lineage(
    view: StoreView, roots: list[int], schemas: dict[int, int]
) -> tuple[dict[int, Any], Unlisted]:
    """The inputs of the columns of datasets whose schemas are given, in JSON.

    With them the columns of these datasets that no schema lists.
    """
    rows = view.session.all(
        "SELECT d.root, m.mapping, j.name, m.since, d.name, m.job FROM dataset d "
        "JOIN mapping_span m ON m.dataset = d.id AND m.since <= ? AND m.until > ? "
        "LEFT JOIN job j ON j.id = m.job WHERE d.root = ANY(?) AND (m.job = 0 OR "
        "(NOT j.hidden AND EXISTS (SELECT 1 FROM edge e WHERE e.job = m.job AND e.io = 1 "
        "AND e.dataset = m.dataset AND e.since <= ? AND e.until > ?)))",
        view.at, view.at, roots, view.at, view.at,
    )  # fmt: skip
    mappings = view.mappings({row[1] for row in rows})
    origins = _origins(view, {member for m in mappings.values() for member in m.fed_by})
    schemas = schemas | schema_ids(
        view, {origin[0] for origin in origins.values()} - schemas.keys()
    )
    unlisted = unlisted_columns(view, [*{*roots, *schemas}])
    sources = {
        member: _Source(*origin, _columns(origin[0], schemas, unlisted))
        for member, origin in origins.items()
    }
    _sort(rows, mappings, sources)
    kept, written = view.contents.nodes, dict[int, Raw]()
    for root, writers in _writers(view, rows, mappings, sources).items():
        columns = _columns(root, schemas, unlisted)
        key = pack(("columns", columns, writers))
        known = kept.get(key)
        if known is None:
            known = kept.put(key, Raw(encode_answer(_written(view, columns, writers, mappings))))
        view.budget.read_rows(len(memoryview(known)))
        written[root] = known
    return written, unlisted


def _columns(root: int, schemas: dict[int, int], unlisted: Unlisted) -> _Columns:
    return _Columns(schemas.get(root), tuple(unlisted.get(root, ())))


def _sort(
    rows: list[Any], mappings: dict[int, IndexedMapping], sources: dict[int, _Source]
) -> None:
    """Order mappings by job and time; those of one moment by what they tell."""
    ties = Counter(row[2:5] for row in rows)
    rows.sort(
        key=lambda row: (
            row[2] or "", row[3], row[4],
            _told(mappings[row[1]], sources) if ties[row[2:5]] > 1 else "",
        )
    )  # fmt: skip


def _told(mapping: IndexedMapping, sources: dict[int, _Source]) -> str:
    """What tells mappings of one moment apart, whichever was stored first."""
    return repr(
        [
            (o.field, o.description, o.type, [(sources[i.dataset][1:3], i.field) for i in o.inputs])
            for o in mapping.outputs.values()
        ]
    )


def _writers(
    view: StoreView,
    rows: list[Any],
    mappings: dict[int, IndexedMapping],
    sources: dict[int, _Source],
) -> dict[int, tuple[_Writer, ...]]:
    """What feeds each dataset; of a job only what it reads, and its output by any name."""
    read = datasets_read(view, {row[5] for row in rows})
    reads = {job: {*roots.values()} for job, roots in read.items()}
    found: dict[int, list[_Writer]] = {}
    for root, mapping, *_, job in rows:
        counted = tuple(
            (member, source)
            for member in mappings[mapping].fed_by
            if (source := sources[member]).root == root or job == 0 or source.root in reads[job]
        )
        found.setdefault(root, []).append(_Writer(mapping, counted))
    return {root: tuple(writers) for root, writers in found.items()}


def _written(
    view: StoreView,
    own: _Columns,
    writers: tuple[_Writer, ...],
    mappings: dict[int, IndexedMapping],
) -> list[ColumnLineage] | None:
    found: dict[str, ColumnLineage] = {}
    listed = _names(view, own)
    for mapping, counted in writers:
        sources = {
            member: (source.namespace, source.name, _names(view, source.columns))
            for member, source in counted
        }
        for output in mappings[mapping].outputs.values():
            if listed is not None and output.field not in listed:
                continue
            column = found.get(output.field)
            if column is None:
                column = ColumnLineage(output.field, [], output.description, output.type)
                found[output.field] = column
            given = [
                InputField(*source[:2], i.field, output.description, output.type)
                for i in output.inputs
                if (source := sources.get(i.dataset)) is not None
                and (source[2] is None or i.field in source[2])
            ]
            if column.input_fields:  # of another mapping; there may be tens of thousands
                known = {msgspec.structs.astuple(one) for one in column.input_fields}
                given = [one for one in given if msgspec.structs.astuple(one) not in known]
            column.input_fields += given
    return [*found.values()] or None


def _names(view: StoreView, columns: _Columns) -> set[str] | None:
    if columns.schema is None:
        return None
    return view.schemas({columns.schema})[columns.schema].names | {*columns.unlisted}


def _origins(view: StoreView, members: Iterable[int]) -> dict[int, tuple[int, str, str]]:
    """The roots of datasets, with their names."""
    rows = view.session.all("SELECT id, root FROM dataset WHERE id = ANY(?)", [*members])
    names = view.names.of(root for _, root in rows)
    return {member: (root, *names[root]) for member, root in rows}
