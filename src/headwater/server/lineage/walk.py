"""Walks the lineage of jobs and datasets at the moment of a view, or as it ever was up to it.

Depth counts jobs, both ways, from the job asked for; from a dataset, from the jobs that
write it or, if none does, that read it. Each job in reach comes with all its datasets. The
work follows the size of the answer: one statement a level, by index.
"""

from typing import Any, NamedTuple

from headwater.openlineage.names import NodeId, NodeKind
from headwater.openlineage.times import FOREVER
from headwater.server.lineage.view import StoreView
from headwater.server.store.tables import INPUT, OUTPUT

EVER = -FOREVER
_GIVEN = "(SELECT id AS job FROM job WHERE id = ANY(?))"


class Span(NamedTuple):
    """The first and the last moment of an edge."""

    since: int
    until: int


EdgeKey = tuple[int, int, int]  # job, io, dataset's root


class Walk:
    """The jobs in reach and what each reads and writes, at the moment or since an earlier one."""

    def __init__(self, view: StoreView, *, since: int | None = None) -> None:
        self.view = view
        self._window = view.at, view.at if since is None else since
        self.inputs: dict[int, set[int]] = {}
        self.outputs: dict[int, set[int]] = {}
        self.datasets: set[int] = set()
        self._asked: set[int] = set()

    def from_jobs(self, start: set[int], depth: int) -> None:
        """Take in some jobs, then those around them, a level at a time."""
        level = self.take(start)
        for _ in range(depth):
            new = self.datasets - self._asked
            self._asked |= new
            if not new:
                return
            if self.view.scope.is_limited:
                level = self.take(self.jobs_of(new) - self.inputs.keys())
                continue
            jobs, params = self._jobs_of(new, (INPUT, OUTPUT))
            level = self._take(f"({jobs} AND NOT e.job = ANY(?))", *params, [*level])

    def from_dataset(self, root: int, depth: int) -> None:
        """Take in the jobs that write a dataset, or else read it, then those around them."""
        self.from_jobs(self.jobs_of({root}, OUTPUT) or self.jobs_of({root}, INPUT), depth)
        self.datasets.add(root)

    def take(self, jobs: set[int]) -> set[int]:
        """Take in jobs with their datasets."""
        for job in jobs:
            self.inputs.setdefault(job, set())
            self.outputs.setdefault(job, set())
        return self._take(_GIVEN, [*jobs])

    def jobs_of(self, roots: set[int], *sides: int) -> set[int]:
        """The jobs that read, that write, or either, some datasets."""
        sql, params = self._jobs_of(roots, (sides[0], sides[-1]) if sides else (INPUT, OUTPUT))
        rows = self.view.session.all(sql, *params)
        return {row[-1] for row in self._seen(rows)}

    def spans(self) -> dict[EdgeKey, Span]:
        """When each edge was there: from its first moment to its last."""
        rows = self.view.session.all(
            "SELECT d.id, d.root, e.job, e.io, e.since, e.until FROM edge e "
            "JOIN dataset d ON d.id = e.dataset JOIN dataset r ON r.id = d.root AND NOT r.hidden "
            "WHERE e.job = ANY(?) AND e.since <= ? AND e.until > ?", [*self.inputs], *self._window,
        )  # fmt: skip
        roots = self.view.names.roots_in(rows)
        found: dict[EdgeKey, Span] = {}
        for root, (_, _, job, io, since, until) in zip(roots, rows, strict=True):
            key = job, io, root
            known = found.get(key, Span(since, until))
            found[key] = Span(min(known.since, since), max(known.until, until))
        return found

    def _jobs_of(self, roots: set[int], sides: tuple[int, int]) -> tuple[str, list[Any]]:
        names = self.view.names
        columns = "d.id, d.root, e.job" if self.view.scope.is_limited else "e.job"
        sql = (
            f"SELECT DISTINCT {columns} FROM dataset d JOIN edge e ON e.dataset = d.id "
            "AND e.io IN (?, ?) AND e.since <= ? AND e.until > ? "
            f"JOIN job j ON j.id = e.job AND NOT j.hidden WHERE {names.condition}"
        )
        return sql, [*sides, *self._window, names.keys(roots)]

    def _take(self, jobs: str, *params: Any) -> set[int]:
        """Take in the jobs that a statement gives, with their datasets."""
        rows = self.view.session.all(
            f"SELECT d.id, d.root, e.job, e.io FROM {jobs} j "
            "JOIN edge e ON e.job = j.job AND e.since <= ? AND e.until > ? "
            "JOIN dataset d ON d.id = e.dataset JOIN dataset r ON r.id = d.root AND NOT r.hidden",
            *params, *self._window,
        )  # fmt: skip
        rows = self._seen(rows)
        inputs, outputs = self.inputs, self.outputs
        roots = self.view.names.roots_in(rows)
        for root, (_, _, job, io) in zip(roots, rows, strict=True):
            if job not in inputs:
                inputs[job], outputs[job] = set(), set()
            (inputs if io == INPUT else outputs)[job].add(root)
        self.datasets.update(roots)
        return {row[2] for row in rows}

    def _seen(self, rows: list[Any]) -> list[Any]:
        """Rows of edges (dataset, root, job) of which an end is of the view's namespaces."""
        if not self.view.scope.is_limited or not rows:
            return rows
        roots = self.view.names.roots_in(rows)
        jobs = self.view.scope.own_jobs(row[2] for row in rows)
        datasets = self.view.names.own(roots)
        return [
            row for root, row in zip(roots, rows, strict=True) if row[2] in jobs or root in datasets
        ]


def walk_around(
    view: StoreView, node: NodeId, depth: int, *, since: int | None = None
) -> Walk | None:
    """The walk around a job, a dataset or a column's dataset; None where there is no such node."""
    walk = Walk(view, since=since)
    if node.kind is NodeKind.JOB:
        job = view.find_job(node)
        if job is None:
            return None
        walk.from_jobs({job}, depth)
        return walk
    column = view.find_field(node) if node.kind is NodeKind.FIELD else None
    root = column[0] if column else view.find_dataset(node)
    if root is None:
        return None
    walk.from_dataset(root, depth)
    return walk
