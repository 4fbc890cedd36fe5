"""Walks the lineage of jobs and datasets.

Depth counts jobs, both ways, from the job asked for; from a dataset, from the jobs that
write it or, if none does, that read it. Each job in reach comes with all its datasets. The
work follows the size of the answer: a few statements a level, each by index.
"""

from typing import Any, NamedTuple, Protocol

from headwater.server.answers.nodes import write_nodes
from headwater.server.answers.reading import Reading
from headwater.server.answers.runs import latest_rows
from headwater.server.answers.shapes import Graph
from headwater.server.store.rows import RunRow
from headwater.server.store.tables import INPUT, OUTPUT

_PARENT = RunRow.__struct_fields__.index("parent")


class Sides(Protocol):
    """What the jobs of a walk read and write."""

    inputs: dict[int, set[int]]
    outputs: dict[int, set[int]]


class Walk:
    """The jobs in reach, and what each reads and writes."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.inputs: dict[int, set[int]] = {}
        self.outputs: dict[int, set[int]] = {}
        self.datasets: set[int] = set()
        self._asked: set[int] = set()

    def go(self, start: set[int], depth: int) -> None:
        """Take in some jobs, then those around them, a level at a time."""
        level = start
        for _ in range(depth):
            self._take(level)
            level = self._around()
            if not level:
                return
        self._take(level)

    def _take(self, level: set[int]) -> None:
        for job in level:
            self.inputs[job], self.outputs[job] = set(), set()
        rows = self._reading.session.all(
            "SELECT e.job, e.io, r.id FROM edge e JOIN dataset d ON d.id = e.dataset "
            "JOIN dataset r ON r.id = d.root WHERE e.job = ANY(?) AND e.since <= ? "
            "AND e.until > ? AND NOT r.hidden", [*level], self._reading.at, self._reading.at,
        )  # fmt: skip
        for job, io, root in rows:
            (self.inputs if io == INPUT else self.outputs)[job].add(root)
            self.datasets.add(root)

    def _around(self) -> set[int]:
        """The jobs that share a dataset with those of a level."""
        new = self.datasets - self._asked
        self._asked |= new
        near = jobs_of(self._reading, INPUT, new) | jobs_of(self._reading, OUTPUT, new)
        return near - self.inputs.keys()


def jobs_of(reading: Reading, io: int, roots: set[int]) -> set[int]:
    """The jobs that read, or that write, some datasets at the moment."""
    if not roots:
        return set()
    rows = reading.session.all(
        "SELECT DISTINCT e.job FROM dataset d JOIN edge e ON e.dataset = d.id AND e.io = ? "
        "AND e.since <= ? AND e.until > ? JOIN job j ON j.id = e.job AND NOT j.hidden "
        "WHERE d.root = ANY(?)", io, reading.at, reading.at, [*roots],
    )  # fmt: skip
    return {row[0] for row in rows}


class View(NamedTuple):
    """How a graph is shown."""

    by_parent: bool = False  # parents stand for their children
    detail: bool = False  # a child job's own run, not its parent's; and tags
    brief: bool = False  # no columns, and no versions of what runs read and wrote


def lineage_of_job(reading: Reading, job: int, depth: int, view: View) -> Graph:
    """The graph around a job."""
    walk = Walk(reading)
    walk.go({job}, depth)
    return _graph(reading, walk, view)


def lineage_of_dataset(reading: Reading, root: int, depth: int, view: View) -> Graph:
    """The graph around a dataset."""
    walk = Walk(reading)
    walk.go(jobs_of(reading, OUTPUT, {root}) or jobs_of(reading, INPUT, {root}), depth)
    walk.datasets.add(root)
    return _graph(reading, walk, view)


def lineage_of_jobs(reading: Reading, some: set[int], view: View) -> Graph:
    """The graph of some jobs, and nothing around them."""
    walk = Walk(reading)
    walk.go(some, 0)
    return _graph(reading, walk, view)


def _graph(reading: Reading, walk: Walk, view: View) -> Graph:
    if view.by_parent:
        fold_into_parents(reading, walk)
    latest = latest_rows(reading, [*walk.inputs])
    if not view.detail:
        _show_parents(reading, latest)
    nodes = write_nodes(
        reading, walk.inputs, walk.outputs, walk.datasets, latest,
        with_tags=view.detail, brief=view.brief,
    )  # fmt: skip
    return Graph(nodes)


def _show_parents(reading: Reading, latest: dict[int, tuple[Any, ...]]) -> None:
    """Let a child's run be shown by that of its parent, as Marquez does."""
    parents = {job: row[_PARENT] for job, row in latest.items()}
    wanted = {parent for parent in parents.values() if parent is not None}
    if not wanted:
        return
    rows = reading.session.all("SELECT * FROM run WHERE id = ANY(?)", [*wanted])
    by_id = {row[0]: row for row in rows}
    for job, parent in parents.items():
        latest[job] = by_id.get(parent, latest[job])


def fold_into_parents(reading: Reading, walk: Sides) -> None:
    """Let parents stand for their children."""
    rows = reading.session.all(
        "SELECT id, parent FROM job WHERE id = ANY(?) AND parent IS NOT NULL", [*walk.inputs]
    )
    parents: dict[int, int] = dict(rows)
    for side in (walk.inputs, walk.outputs):
        told = [*side.items()]
        side.clear()
        for job, found in told:
            side.setdefault(parents.get(job, job), set()).update(found)
