"""Walks the graph of jobs and datasets as it was at a moment, or as it ever was up to one.

The walk is that of `graph`; what differs is that an edge counts by its from and to, and
that a dataset goes by the name it had then.
"""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.openlineage.lifecycle import RunState
from headwater.openlineage.names import JobName
from headwater.openlineage.times import FOREVER
from headwater.server.lineage.naming import Naming, schemas_then
from headwater.server.lineage.schemas import unlisted_columns
from headwater.server.lineage.view import StoreView, maybe_moment, moment
from headwater.server.marquez import datasets, jobs
from headwater.server.marquez.graph import GraphOptions, fold_into_parents
from headwater.server.marquez.responses import DatedEdge, Edge, Graph, Name, Node
from headwater.server.marquez.runs import LISTED, RunWriter
from headwater.server.store.rows import RunRow, unpack_said
from headwater.server.store.tables import INPUT, OUTPUT

EVER = -FOREVER


class Between(NamedTuple):
    """The first and the last moment of an edge."""

    since: int
    until: int


EdgeKey = tuple[int, int, int]  # job, io, dataset's root


class PastWalk:
    """The jobs in reach and their edges, of the moment of a view or since an earlier one."""

    def __init__(self, view: StoreView, *, since: int | None = None) -> None:
        self._view, self.naming = view, Naming(view)
        self._until = view.at
        self._since = view.at if since is None else since
        self.inputs: dict[int, set[int]] = {}
        self.outputs: dict[int, set[int]] = {}
        self.datasets: set[int] = set()
        self.edges: dict[EdgeKey, Between] = {}
        self._asked: set[int] = set()

    def go(self, start: set[int], depth: int) -> None:
        """Take in some jobs, then those around them, a level at a time."""
        level = start
        for _ in range(depth):
            self.take(level)
            level = self._around()
            if not level:
                return
        self.take(level)

    def from_dataset(self, root: int, depth: int) -> None:
        """Take in the jobs that write a dataset, or else read it, then those around them."""
        self.go(self.jobs_of(OUTPUT, {root}) or self.jobs_of(INPUT, {root}), depth)
        self.datasets.add(root)

    def take(self, level: Iterable[int]) -> None:
        """Take in jobs with their datasets."""
        level = [*level]
        for job in level:
            self.inputs[job], self.outputs[job] = set(), set()
        rows = self._view.session.all(
            "SELECT job, io, dataset, since, until FROM edge WHERE job = ANY(?) "
            "AND since <= ? AND until > ?", level, self._until, self._since,
        )  # fmt: skip
        roots = self.naming.shown(row[2] for row in rows)
        for job, io, dataset, since, until in rows:
            root = roots.get(dataset)
            if root is None:
                continue
            (self.inputs if io == INPUT else self.outputs)[job].add(root)
            self.datasets.add(root)
            known = self.edges.get((job, io, root), Between(since, until))
            self.edges[job, io, root] = Between(min(known[0], since), max(known[1], until))

    def jobs_of(self, io: int, roots: set[int]) -> set[int]:
        """The jobs that read, or that write, some datasets."""
        rows = self._view.session.all(
            "SELECT DISTINCT e.job FROM edge e JOIN job j ON j.id = e.job AND NOT j.hidden "
            "WHERE e.dataset = ANY(?) AND e.io = ? AND e.since <= ? AND e.until > ?",
            [*self.naming.members(roots)], io, self._until, self._since,
        )  # fmt: skip
        return {row[0] for row in rows}

    def _around(self) -> set[int]:
        new = self.datasets - self._asked
        self._asked |= new
        return (self.jobs_of(INPUT, new) | self.jobs_of(OUTPUT, new)) - self.inputs.keys()


def past_graph(view: StoreView, walk: PastWalk, options: GraphOptions, *, dated: bool) -> Graph:
    """A walk as a graph; `dated` edges tell when they were there."""
    if options.by_parent:
        fold_into_parents(view, walk)
    return Graph(_nodes(view, walk, options, dated))


def _nodes(view: StoreView, walk: PastWalk, options: GraphOptions, dated: bool) -> list[Node]:
    naming, roots = walk.naming, walk.datasets
    rows = jobs.job_rows(view, [*walk.inputs])
    latest = latest_then(view, [*rows])
    writer = RunWriter(view, latest.values())
    into: dict[int, list[Edge]] = {root: [] for root in roots}
    out: dict[int, list[Edge]] = {root: [] for root in roots}
    nodes = []
    for job, row in sorted(rows.items(), key=lambda item: (item[1].namespace, item[1].name)):
        node_id = str(JobName(row.namespace, row.name))
        inputs = sorted(walk.inputs[job], key=naming.node_id)
        outputs = sorted(walk.outputs.get(job, ()), key=naming.node_id)
        reads = [_edge(walk, job, INPUT, root, naming.node_id(root), node_id, dated)
                 for root in inputs]  # fmt: skip
        writes = [_edge(walk, job, OUTPUT, root, node_id, naming.node_id(root), dated)
                  for root in outputs]  # fmt: skip
        for root, edge in zip(inputs, reads, strict=True):
            out[root].append(edge)
        for root, edge in zip(outputs, writes, strict=True):
            into[root].append(edge)
        run = writer.write(latest[job]) if job in latest else None
        read, written = ([Name(*naming.name(root)) for root in side] for side in (inputs, outputs))
        nodes.append(Node(node_id, "JOB", jobs.node_data(row, read, written, run), reads, writes))
    shown, schemas = dataset_rows(view, naming, roots), schemas_then(view, naming, roots)
    tags, unlisted = datasets.Tags(view, [*roots]), unlisted_columns(view, [*roots])
    for root, told in shown.items():
        more = unlisted.get(root, ())
        data = datasets.node_data(told, tags, schemas.get(root), more, with_tags=options.detail)
        nodes.append(Node(naming.node_id(root), "DATASET", data, into[root], out[root]))
    return sorted(nodes, key=lambda node: node.id)


def _edge(
    walk: PastWalk, job: int, io: int, root: int, origin: str, destination: str, dated: bool
) -> Edge:
    if not dated:
        return Edge(origin, destination)
    found = walk.edges.get((job, io, root))
    if found is None:  # a child's, shown by its parent
        return DatedEdge(origin, destination, None, None)
    last = None if found.until == FOREVER else moment(found.until)
    return DatedEdge(origin, destination, maybe_moment(found.since), last)


def dataset_rows(view: StoreView, naming: Naming, roots: Iterable[int]) -> dict[int, datasets.Row]:
    """Datasets under the names they had."""
    members = naming.members(roots)
    rows = view.session.all(
        "SELECT namespace, name, id, created_at, updated_at, source, description, lifecycle, "
        "facets FROM dataset WHERE id = ANY(?)", [*members],
    )  # fmt: skip
    places = view.namespaces({row[0] for row in rows})
    rows.sort(key=lambda row: (places[row[0]], row[1]))
    found: dict[int, datasets.Row] = {}
    for _, _, member, created, updated, source, text, lifecycle, facets in rows:
        root = members[member]
        name = naming.name(root)
        row = datasets.Row(
            root, *name, created, min(updated, max(created, view.at)),
            source or name.namespace, text, lifecycle, unpack_said(facets),
            {(name.namespace, name.name)},
        )  # fmt: skip
        other = found.get(root)
        found[root] = row if other is None else datasets.join_rows(
            row, other, row_is_root=member == root
        )  # fmt: skip
    return found


def latest_then(view: StoreView, ids: list[int]) -> dict[int, RunRow]:
    """The run of each job that had begun last, in the state it was in."""
    rows = view.session.all(
        "SELECT r.* FROM job j JOIN run r ON r.id = (SELECT x.id FROM run x WHERE x.job = j.id "
        f"AND x.{LISTED} AND x.created_at <= ? ORDER BY x.created_at DESC, x.uuid DESC LIMIT 1) "
        "WHERE j.id = ANY(?)", view.at, ids,
    )  # fmt: skip
    return {row[2]: _then(RunRow.of(row), view.at) for row in rows}


def _then(run: RunRow, at: int) -> RunRow:
    run.updated_at = min(run.updated_at, at)
    if run.ended_at is not None and run.ended_at > at:
        run.ended_at = run.ending = None
        run.state = RunState.RUNNING
    if run.started_at is None or run.started_at > at:
        run.started_at, run.state = None, RunState.NEW
    return run
