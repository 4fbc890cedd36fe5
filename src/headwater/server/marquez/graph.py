"""Walks the lineage of jobs and datasets.

Depth counts jobs, both ways, from the job asked for; from a dataset, from the jobs that
write it or, if none does, that read it. Each job in reach comes with all its datasets. The
work follows the size of the answer: a few statements a level, each by index.
"""

from typing import Any, NamedTuple, Protocol

from headwater.server.lineage.view import StoreView
from headwater.server.marquez.nodes import write_nodes
from headwater.server.marquez.responses import Graph
from headwater.server.marquez.runs import latest_rows
from headwater.server.store.rows import RunRow
from headwater.server.store.tables import INPUT, OUTPUT

BOTH, WRITERS = (INPUT, OUTPUT), (OUTPUT, OUTPUT)
JOBS_OF = (
    "SELECT DISTINCT e.job FROM dataset d JOIN edge e ON e.dataset = d.id AND e.io IN (?, ?) "
    "AND e.since <= ? AND e.until > ? JOIN job j ON j.id = e.job AND NOT j.hidden "
    "WHERE d.root = ANY(?)"
)
_PARENT = RunRow.__struct_fields__.index("parent")


class Sides(Protocol):
    """What the jobs of a walk read and write."""

    inputs: dict[int, set[int]]
    outputs: dict[int, set[int]]


class Walk:
    """The jobs in reach, and what each reads and writes."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self.inputs: dict[int, set[int]] = {}
        self.outputs: dict[int, set[int]] = {}
        self.datasets: set[int] = set()
        self._asked: set[int] = set()

    def go(self, start: set[int], depth: int) -> None:
        """Take in some jobs, then those around them, a level at a time."""
        level = self._take("(SELECT id AS job FROM job WHERE id = ANY(?))", [*start])
        for job in start - level:  # one without datasets
            self.inputs[job], self.outputs[job] = set(), set()
        at = self._view.at
        for _ in range(depth):
            new = self.datasets - self._asked
            self._asked |= new
            if not new:
                return
            jobs = f"({JOBS_OF} AND NOT e.job = ANY(?))"
            level = self._take(jobs, *BOTH, at, at, [*new], [*level])

    def _take(self, jobs: str, *params: Any) -> set[int]:
        """Take in the jobs that a statement gives, with their datasets; tell which."""
        rows = self._view.session.all(
            f"SELECT e.job, e.io, r.id FROM {jobs} j JOIN edge e ON e.job = j.job "
            "AND e.since <= ? AND e.until > ? JOIN dataset d ON d.id = e.dataset "
            "JOIN dataset r ON r.id = d.root AND NOT r.hidden",
            *params, self._view.at, self._view.at,
        )  # fmt: skip
        for job, io, root in rows:
            if job not in self.inputs:
                self.inputs[job], self.outputs[job] = set(), set()
            (self.inputs if io == INPUT else self.outputs)[job].add(root)
            self.datasets.add(root)
        return {row[0] for row in rows}


def jobs_of(view: StoreView, roots: set[int], sides: tuple[int, int] = BOTH) -> set[int]:
    """The jobs that read or write some datasets at the moment."""
    rows = view.session.all(JOBS_OF, *sides, view.at, view.at, [*roots])
    return {row[0] for row in rows}


class GraphOptions(NamedTuple):
    """How a graph is shown."""

    by_parent: bool = False  # parents stand for their children
    detail: bool = False  # a child job's own run, not its parent's; and tags
    brief: bool = False  # no columns, and no versions of what runs read and wrote


def lineage_of_job(view: StoreView, job: int, depth: int, options: GraphOptions) -> Graph:
    """The graph around a job."""
    walk = Walk(view)
    walk.go({job}, depth)
    return _graph(view, walk, options)


def lineage_of_dataset(view: StoreView, root: int, depth: int, options: GraphOptions) -> Graph:
    """The graph around a dataset."""
    walk = Walk(view)
    walk.go(jobs_of(view, {root}, WRITERS) or jobs_of(view, {root}), depth)
    walk.datasets.add(root)
    return _graph(view, walk, options)


def lineage_of_jobs(view: StoreView, some: set[int], options: GraphOptions) -> Graph:
    """The graph of some jobs, and nothing around them."""
    walk = Walk(view)
    walk.go(some, 0)
    return _graph(view, walk, options)


def _graph(view: StoreView, walk: Walk, options: GraphOptions) -> Graph:
    if options.by_parent:
        fold_into_parents(view, walk)
    latest = latest_rows(view, [*walk.inputs])
    if not options.detail:
        _show_parents(view, latest)
    nodes = write_nodes(
        view, walk.inputs, walk.outputs, walk.datasets, latest,
        with_tags=options.detail, brief=options.brief,
    )  # fmt: skip
    return Graph(nodes)


def _show_parents(view: StoreView, latest: dict[int, tuple[Any, ...]]) -> None:
    """Let a child's run be shown by that of its parent, as Marquez does."""
    parents = {job: row[_PARENT] for job, row in latest.items()}
    wanted = {parent for parent in parents.values() if parent is not None}
    if not wanted:
        return
    rows = view.session.all("SELECT * FROM run WHERE id = ANY(?)", [*wanted])
    by_id = {row[0]: row for row in rows}
    for job, parent in parents.items():
        latest[job] = by_id.get(parent, latest[job])


def fold_into_parents(view: StoreView, walk: Sides) -> None:
    """Let parents stand for their children.

    What one child writes and another reads is written by their parent, and not read by it.
    """
    rows = view.session.all(
        "SELECT id, parent FROM job WHERE id = ANY(?) AND parent IS NOT NULL", [*walk.inputs]
    )
    parents: dict[int, int] = dict(rows)
    own = {
        (parents.get(job, job), root)
        for job, read in walk.inputs.items()
        for root in read & walk.outputs.get(job, set())
    }
    for side in (walk.inputs, walk.outputs):
        told = [*side.items()]
        side.clear()
        for job, found in told:
            side.setdefault(parents.get(job, job), set()).update(found)
    for job in {*parents.values()} & walk.inputs.keys():
        between = walk.inputs[job] & walk.outputs.get(job, set())
        walk.inputs[job] -= {root for root in between if (job, root) not in own}
