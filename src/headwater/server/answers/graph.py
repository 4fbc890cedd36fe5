"""Walks the lineage of jobs and datasets.

Depth counts jobs, both ways, from the job asked for; from a dataset, from the jobs that
write it or, if none does, that read it. Each job in reach comes with all its datasets. The
work follows the size of the answer: a few statements a level, each by index.
"""

from typing import NamedTuple

from headwater.model.names import DatasetName, JobName
from headwater.server.answers import datasets, jobs
from headwater.server.answers.reading import Reading
from headwater.server.answers.runs import RunWriter, latest_runs
from headwater.server.answers.shapes import Edge, Graph, Name, Node
from headwater.server.store.rows import RunRow
from headwater.server.store.tables import INPUT, OUTPUT


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


def _graph(reading: Reading, walk: Walk, view: View) -> Graph:
    if view.by_parent:
        _fold_into_parents(reading, walk)
    latest = {job: runs[0] for job, runs in latest_runs(reading, [*walk.inputs], 1).items()}
    if not view.detail:
        _show_parents(reading, latest)
    return Graph(_nodes(reading, walk, latest, view))


def _show_parents(reading: Reading, latest: dict[int, RunRow]) -> None:
    """Let a child's run be shown by that of its parent, as Marquez does."""
    parents = {run.parent for run in latest.values() if run.parent is not None}
    if not parents:
        return
    rows = reading.session.all("SELECT * FROM run WHERE id = ANY(?)", [*parents])
    by_id = {row[0]: RunRow.of(row) for row in rows}
    for job, run in latest.items():
        latest[job] = by_id.get(run.parent, run) if run.parent is not None else run


def _fold_into_parents(reading: Reading, walk: Walk) -> None:
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


def _nodes(reading: Reading, walk: Walk, latest: dict[int, RunRow], view: View) -> list[Node]:
    roots, ids = [*walk.datasets], [*walk.inputs]
    shown, tags = datasets.rows_of(reading, roots), datasets.Tags(reading, roots)
    schemas = datasets.schemas_of(reading, roots)
    job_rows = jobs.job_rows(reading, ids)
    writer = RunWriter(reading, latest.values())
    names = {root: Name(row.namespace, row.name) for root, row in shown.items()}
    dataset_ids = {root: str(DatasetName(n.namespace, n.name)) for root, n in names.items()}
    into: dict[int, list[Edge]] = {root: [] for root in roots}
    out: dict[int, list[Edge]] = {root: [] for root in roots}
    nodes = []
    for job, row in sorted(job_rows.items(), key=lambda item: (item[1].namespace, item[1].name)):
        node_id = str(JobName(row.namespace, row.name))
        inputs = sorted(walk.inputs[job], key=dataset_ids.__getitem__)
        outputs = sorted(walk.outputs[job], key=dataset_ids.__getitem__)
        reads = [(root, Edge(dataset_ids[root], node_id)) for root in inputs]
        writes = [(root, Edge(node_id, dataset_ids[root])) for root in outputs]
        for root, edge in reads:
            out[root].append(edge)
        for root, edge in writes:
            into[root].append(edge)
        run = writer.write(latest[job]) if job in latest else None
        data = jobs.node_data(row, [names[r] for r in inputs], [names[r] for r in outputs], run)
        nodes.append(Node(node_id, "JOB", data, [e for _, e in reads], [e for _, e in writes]))
    nodes += [
        Node(
            dataset_ids[root], "DATASET",
            datasets.node_data(row, tags, schemas.get(root), with_tags=view.detail),
            into[root], out[root],
        )
        for root, row in shown.items()
    ]  # fmt: skip
    return sorted(nodes, key=lambda node: node.id)
