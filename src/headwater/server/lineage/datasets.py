"""Datasets at the moment of a view: what their names tell together, and their tags."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from headwater.server.lineage.view import Schema, StoreView, field_json
from headwater.server.store.contents import Field
from headwater.server.store.rows import FacetSources, unpack_sources

_NONE = Raw(b"[]")
NOT_LISTED = {"inSchema": False}  # of a column that only column lineage names


class Row(NamedTuple):
    """A dataset as it is shown: its root's name, and what all its names know together."""

    id: int
    namespace: str
    name: str
    created_at: int
    updated_at: int
    source: str
    description: str | None
    lifecycle: str
    facets: FacetSources
    names: set[tuple[str, str]]


Members = dict[int, list[tuple[Any, ...]]]  # root → rows of its names


def member_rows(view: StoreView, roots: Iterable[int], facets: str = "NULL") -> Members:
    """The rows of the names of datasets, with or without what is known of their facets."""
    names = view.names
    rows = view.session.all(
        "SELECT d.root, d.id, d.namespace, d.name, d.created_at, d.updated_at, d.source, "
        f"d.description, d.lifecycle, {facets} FROM dataset d WHERE {names.condition}",
        names.keys(roots),
    )  # fmt: skip
    if view.is_past:
        rows = _at_moment(view, rows)
    members: Members = {}
    for row in rows:
        members.setdefault(row[0], []).append(row)
    return members


def _at_moment(view: StoreView, rows: list[Any]) -> list[Any]:
    """Rows of names under the roots they had then, not updated later."""
    roots = view.names.resolve({row[1]: row[0] for row in rows})
    return [(roots[row[1]], *row[1:5], min(row[5], max(row[4], view.at)), *row[6:]) for row in rows]


def rows_of(view: StoreView, roots: Iterable[int]) -> dict[int, Row]:
    """Datasets by root."""
    return shown_rows(view, member_rows(view, roots, "d.facets"))


def shown_rows(view: StoreView, members: Members) -> dict[int, Row]:
    """Datasets by root, each joined from the rows of its names."""
    places = view.namespaces({row[2] for rows in members.values() for row in rows})
    covers = view.scope.covers
    return {root: _shown_row(root, rows, places, covers) for root, rows in members.items()}


def _shown_row(
    root: int, rows: list[tuple[Any, ...]], places: dict[int, str], covers: Callable[[str], bool]
) -> Row:
    """A dataset from the rows of its names; there may be a thousand."""
    if len(rows) > 1:  # where names differ in what only one can tell, the first by name does
        rows.sort(key=lambda row: (places[row[2]], row[3]))
        rows.sort(key=lambda row: row[1] != root)
        rows.sort(key=lambda row: not covers(places[row[2]]))
    facets: FacetSources = {}
    for row in rows:
        for facet, stamp in unpack_sources(row[9]).items():
            if facet not in facets or facets[facet] < stamp:
                facets[facet] = stamp
    _, _, place, name, _, _, source, _, lifecycle, _ = rows[0]
    return Row(
        root, places[place], name,
        created_at=min(row[4] for row in rows),
        updated_at=max(row[5] for row in rows),
        source=source or places[place],
        description=next((row[7] for row in rows if row[7]), rows[0][7]),
        lifecycle=lifecycle,
        facets=facets,
        names={(places[row[2]], row[3]) for row in rows},
    )  # fmt: skip


class Tags:
    """Tags of datasets and of their fields."""

    def __init__(self, view: StoreView | None, roots: list[int]) -> None:
        self._tags: dict[tuple[int, str], list[str]] = {}
        self._told: dict[int, list[tuple[str, str]]] = {}  # dataset → its (field, tag)s
        self._budget = view.budget if view else None
        if view is None:
            return
        rows = view.session.all(
            "SELECT target, field, tag FROM tagging WHERE kind = 'DATASET' AND target = ANY(?) "
            "UNION SELECT d.root, t.field, t.tag FROM dataset d "
            "JOIN facet_tag t ON t.kind = 'DATASET' AND t.target = d.id WHERE d.root = ANY(?) "
            "ORDER BY 3", roots, roots,
        )  # fmt: skip
        for target, field, tag in rows:
            self._tags.setdefault((target, field), []).append(tag)
            self._told.setdefault(target, []).append((field, tag))

    def of(self, dataset: int, field: str = "") -> list[str]:
        """The tags of a dataset, or of a field of it."""
        return self._tags.get((dataset, field), [])

    def all_of(self, dataset: int) -> tuple[tuple[str, str], ...]:
        """Every tag of a dataset, with the field that has it."""
        return tuple(self._told.get(dataset, ()))

    def fields(self, dataset: int, schema: Schema | None, unlisted: Iterable[str] = ()) -> Any:
        """A schema as answers write it, in JSON, with the tags of its fields.

        Columns that it does not list come last, and are marked.
        """
        more = [Field(name, None, None) for name in unlisted]
        if schema is None and not more:
            return _NONE
        if schema and not more and not any(field for field, _ in self._told.get(dataset, ())):
            return self._part_of_answer(schema.json)
        fields = schema.fields if schema else []
        told = [field_json(field, self.of(dataset, field.name)) for field in fields]
        marked = [field_json(field, self.of(dataset, field.name)) | NOT_LISTED for field in more]
        return self._part_of_answer(Raw(msgspec.json.encode(told + marked)))

    def _part_of_answer(self, fields: Raw) -> Raw:
        if self._budget is not None:
            self._budget.take_columns(len(memoryview(fields)))
        return fields


UNTAGGED = Tags(None, [])
