"""The column mappings that hold at the moment of a view.

A mapping belongs to the graph while the job that reported it still writes the dataset, and each of
its inputs while the job still reads that (docs/adr/0046).
"""

from collections.abc import Iterable

from headwater.server.lineage.view import StoreView

_HOLDS = (
    "(m.job = 0 OR (NOT j.hidden AND EXISTS (SELECT 1 FROM edge e WHERE e.job = m.job "
    "AND e.io = 1 AND e.dataset = m.dataset AND e.since <= ? AND e.until > ?)))"
)


def mappings_into(view: StoreView, roots: list[int]) -> list[tuple[int, int, int]]:
    """By which mappings datasets are written: root, mapping, job (0: none)."""
    names, at = view.names, view.at
    rows = view.session.all(
        "SELECT d.id, d.root, m.mapping, m.job FROM dataset d "
        "JOIN mapping_span m ON m.dataset = d.id AND m.since <= ? AND m.until > ? "
        f"LEFT JOIN job j ON j.id = m.job WHERE {names.condition} AND {_HOLDS}",
        at, at, names.keys(roots), at, at,
    )  # fmt: skip
    return [(root, *row[2:]) for root, row in zip(names.roots_in(rows), rows, strict=True)]


def mappings_out_of(view: StoreView, roots: list[int]) -> list[tuple[int, int, int, int]]:
    """By which mappings datasets are read: root, mapping, job (0: none), root that is written."""
    names, at = view.names, view.at
    rows = view.session.all(
        "SELECT d.id, d.root, t.id, t.root, m.mapping, m.job FROM dataset d "
        "JOIN mapping_input i ON i.dataset = d.id "
        "JOIN mapping_span m ON m.mapping = i.mapping AND m.since <= ? AND m.until > ? "
        "JOIN dataset t ON t.id = m.dataset LEFT JOIN job j ON j.id = m.job "
        f"WHERE {names.condition} AND {_HOLDS}", at, at, names.keys(roots), at, at,
    )  # fmt: skip
    resolved = names.resolve({m: root for row in rows for m, root in (row[:2], row[2:4])})
    found = ((resolved[row[0]], row[4], row[5], resolved[row[2]]) for row in rows)
    return [*dict.fromkeys(found)]


def datasets_read(view: StoreView, jobs: Iterable[int]) -> dict[int, dict[int, int]]:
    """The datasets that each of some jobs reads, by the names that were used, with their roots."""
    found: dict[int, dict[int, int]] = {job: {} for job in jobs}
    rows = view.session.all(
        "SELECT e.job, d.id, d.root FROM edge e JOIN dataset d ON d.id = e.dataset "
        "WHERE e.job = ANY(?) AND e.io = 0 AND e.since <= ? AND e.until > ?",
        [*found], view.at, view.at,
    )  # fmt: skip
    roots = view.names.resolve({dataset: root for _, dataset, root in rows})
    for job, dataset, _ in rows:
        found[job][dataset] = roots[dataset]
    return found
