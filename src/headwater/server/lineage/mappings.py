"""The column mappings that hold at the moment of a view.

A mapping belongs to the graph while the job that reported it still writes the dataset.
"""

from headwater.server.lineage.view import StoreView

_HOLDS = (
    "(m.job = 0 OR (NOT j.hidden AND EXISTS (SELECT 1 FROM edge e WHERE e.job = m.job "
    "AND e.io = 1 AND e.dataset = m.dataset AND e.since <= ? AND e.until > ?)))"
)


def mappings_into(view: StoreView, roots: list[int]) -> list[tuple[int, int, int]]:
    """By which mappings datasets are written: root, mapping, job (0: none)."""
    at = view.at
    return view.session.all(
        "SELECT d.root, m.mapping, m.job FROM dataset d "
        "JOIN mapping_span m ON m.dataset = d.id AND m.since <= ? AND m.until > ? "
        f"LEFT JOIN job j ON j.id = m.job WHERE d.root = ANY(?) AND {_HOLDS}",
        at, at, roots, at, at,
    )  # fmt: skip


def mappings_out_of(view: StoreView, roots: list[int]) -> list[tuple[int, int, int, int]]:
    """By which mappings datasets are read: root, mapping, job (0: none), root that is written."""
    at = view.at
    return view.session.all(
        "SELECT DISTINCT d.root, m.mapping, m.job, t.root FROM dataset d "
        "JOIN mapping_input i ON i.dataset = d.id "
        "JOIN mapping_span m ON m.mapping = i.mapping AND m.since <= ? AND m.until > ? "
        "JOIN dataset t ON t.id = m.dataset LEFT JOIN job j ON j.id = m.job "
        f"WHERE d.root = ANY(?) AND {_HOLDS}", at, at, roots, at, at,
    )  # fmt: skip
