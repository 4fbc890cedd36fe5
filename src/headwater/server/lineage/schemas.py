"""The schemas of datasets, and the columns that only column lineage names."""

from collections.abc import Iterable

from headwater.server.lineage.mappings import mappings_into, mappings_out_of
from headwater.server.lineage.view import Schema, StoreView

Unlisted = dict[int, list[str]]  # a dataset's root → columns that are not in its schema


def schema_ids(view: StoreView, roots: Iterable[int]) -> dict[int, int]:
    """The schema of each dataset at the moment: as written, else as read.

    Of datasets that are not of the view's namespaces none is known.
    """
    names = view.names
    rows = view.session.all(
        "SELECT d.id, d.root, (SELECT s.schema FROM schema_span s WHERE s.dataset = d.id "
        "AND s.since <= ? AND s.until > ? ORDER BY s.io DESC, s.since DESC LIMIT 1) "
        f"FROM dataset d WHERE {names.condition}", view.at, view.at, names.keys(names.own(roots)),
    )  # fmt: skip
    found, several = dict[int, int](), set[int]()
    for root, (_, _, schema) in zip(names.roots_in(rows), rows, strict=True):
        if schema is not None and found.setdefault(root, schema) != schema:
            several.add(root)
    return found | _of_several_names(view, several) if several else found


def _of_several_names(view: StoreView, roots: set[int]) -> dict[int, int]:
    """The schemas of datasets whose names have different ones: of them the last counts."""
    names = view.names
    rows = view.session.all(
        "SELECT d.id, d.root, s.io, s.since, s.schema FROM dataset d "
        "JOIN schema_span s ON s.dataset = d.id AND s.since <= ? AND s.until > ? "
        f"WHERE {names.condition}", view.at, view.at, names.keys(roots),
    )  # fmt: skip
    digests = _digests(view, {row[4] for row in rows})
    best: dict[int, tuple[int, int, bytes, int]] = {}
    for root, (_, _, io, since, schema) in zip(names.roots_in(rows), rows, strict=True):
        rank = io, since, digests[schema], schema
        best[root] = max(best.get(root, rank), rank)
    return {root: rank[3] for root, rank in best.items()}


def _digests(view: StoreView, schemas: set[int]) -> dict[int, bytes]:
    """What tells schemas of one moment apart, whichever was stored first."""
    rows = view.session.all("SELECT id, digest FROM schema WHERE id = ANY(?)", [*schemas])
    return {row[0]: row[1] for row in rows}


def schemas_of(view: StoreView, roots: Iterable[int]) -> dict[int, Schema]:
    """The schemas of datasets at the moment."""
    ids = schema_ids(view, roots)
    schemas = view.schemas(set(ids.values()))
    return {root: schemas[number] for root, number in ids.items()}


def dropped_columns(view: StoreView, root: int, present: Schema | None) -> set[str]:
    """The columns that earlier schemas of a dataset had, and its present one has not."""
    rows = view.session.all(
        "SELECT DISTINCT s.schema FROM dataset d JOIN schema_span s ON s.dataset = d.id "
        f"AND s.since <= ? WHERE {view.names.condition}", view.at, view.names.keys([root]),
    )  # fmt: skip
    schemas = view.schemas({row[0] for row in rows})
    dropped = {name for schema in schemas.values() for name in schema.names}
    return dropped - present.names if present else dropped


def unlisted_columns(view: StoreView, roots: list[int]) -> Unlisted:
    """Columns that exist because column lineage names them, though the schema has not."""
    if not view.session.all("SELECT 1 FROM mapped_field LIMIT 1"):
        return {}
    names = view.names
    roots = [*names.own(roots)]
    rows = view.session.all(
        "SELECT d.id, d.root, f.name FROM dataset d JOIN mapped_field m ON m.dataset = d.id "
        f"JOIN field_name f ON f.id = m.name WHERE {names.condition}", names.keys(roots),
    )  # fmt: skip
    named: dict[int, set[str]] = {}
    for root, row in zip(names.roots_in(rows), rows, strict=True):
        named.setdefault(root, set()).add(row[2])
    for root, schema in schemas_of(view, [*named]).items():
        named[root] -= schema.names
        if named[root]:
            named[root] -= dropped_columns(view, root, schema)
    found = {root: names for root, names in named.items() if names}
    held = _held_columns(view, [*found]) if found else {}
    kept = {root: sorted(names & held[root]) for root, names in found.items()}
    return {root: names for root, names in kept.items() if names}


def _held_columns(view: StoreView, roots: list[int]) -> dict[int, set[str]]:
    """The columns of datasets that column lineage names at the moment."""
    into, out_of = mappings_into(view, roots), mappings_out_of(view, roots)
    mappings = view.mappings({row[1] for row in [*into, *out_of]})
    held: dict[int, set[str]] = {root: set() for root in roots}
    for root, mapping, _ in into:
        held[root].update(mappings[mapping].outputs)
    members = view.names.members(roots)
    for mapping in {row[1] for row in out_of}:
        for dataset, fields in mappings[mapping].fed_by.items():
            if dataset in members:
                held[members[dataset]].update(fields)
        for given in mappings[mapping].dataset:
            if given.dataset in members:
                held[members[given.dataset]].add(given.field)
    return held


def unlisted_by_name(view: StoreView, fields: list[int], limit: int) -> list[tuple[int, str]]:
    """Columns with some names (by id) that no schema has: root and name."""
    own, params = view.scope.has_dataset("d.root")
    rows = view.session.all(
        "SELECT DISTINCT d.root, f.name FROM mapped_field m JOIN field_name f ON f.id = m.name "
        f"JOIN dataset d ON d.id = m.dataset WHERE m.name = ANY(?){own} LIMIT ?",
        fields, *params, limit,
    )  # fmt: skip
    unlisted = unlisted_columns(view, [*{row[0] for row in rows}])
    return [(root, name) for root, name in rows if name in unlisted.get(root, ())]
