"""The whole graph where it is small; else its busiest part, so that a page opens on something.

Only jobs that were heard of lately are looked at, so that the work stays bounded however
much is stored.
"""

from typing import NamedTuple

from headwater.server.lineage.runs import latest_runs
from headwater.server.lineage.view import StoreView

_LOOKED_AT = 2_000  # jobs, the latest first


class Overview(NamedTuple):
    """Some jobs, how many nodes there are in all, and whether the jobs are all of them."""

    jobs: set[int]
    total: int
    is_whole: bool


class _Busy(NamedTuple):
    """How busy a job is; more is busier."""

    is_running: bool
    datasets: int
    updated_at: int
    job: int


def overview(view: StoreView, limit: int) -> Overview:
    """All jobs that have edges, or the busiest with at most `limit` nodes between them."""
    touched = _touched(view, max(_LOOKED_AT, limit))
    total = len(touched) + len({root for roots in touched.values() for root in roots})
    if total <= limit and len(touched) < max(_LOOKED_AT, limit):
        return Overview(set(touched), total, is_whole=True)
    busiest = _busiest(view, touched, limit)
    return Overview(busiest, max(total, _count(view)), is_whole=False)


def _touched(view: StoreView, most: int) -> dict[int, set[int]]:
    """The datasets of each job that was heard of lately."""
    rows = view.session.all(
        "SELECT e.job, r.id FROM (SELECT id FROM job WHERE NOT hidden "
        "ORDER BY updated_at DESC LIMIT ?) j JOIN edge e ON e.job = j.id AND e.since <= ? "
        "AND e.until > ? JOIN dataset d ON d.id = e.dataset JOIN dataset r ON r.id = d.root "
        "WHERE NOT r.hidden", most, view.at, view.at,
    )  # fmt: skip
    found: dict[int, set[int]] = {}
    for job, root in rows:
        found.setdefault(job, set()).add(root)
    return found


def _count(view: StoreView) -> int:
    rows = view.session.all(
        "SELECT count(DISTINCT job), count(DISTINCT dataset) FROM edge "
        "WHERE since <= ? AND until > ?", view.at, view.at,
    )  # fmt: skip
    return int(rows[0][0]) + int(rows[0][1])


def _busiest(view: StoreView, touched: dict[int, set[int]], limit: int) -> set[int]:
    """Jobs around the busiest, each next to one taken before as long as there is such."""
    states = {job: runs[0].state for job, runs in latest_runs(view, [*touched], 1).items()}
    rows = view.session.all("SELECT id, updated_at FROM job WHERE id = ANY(?)", [*touched])
    order = sorted(
        (_Busy(states.get(job) == "RUNNING", len(touched[job]), at, job) for job, at in rows),
        reverse=True,
    )
    users: dict[int, set[int]] = {}
    for job, roots in touched.items():
        for root in roots:
            users.setdefault(root, set()).add(job)
    busy = {one.job: one for one in order}
    taken: set[int] = set()
    shown: set[int] = set()
    near: set[int] = set()
    for start in order:
        if start.job in taken:
            continue
        near.add(start.job)
        while near:
            job = max(near, key=busy.__getitem__)
            near.discard(job)
            if taken and len(taken) + 1 + len(shown | touched[job]) > limit:
                return taken
            taken.add(job)
            shown |= touched[job]
            near |= {other for root in touched[job] for other in users[root]} - taken
    return taken
