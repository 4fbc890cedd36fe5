"""Writes jobs and datasets as nodes of a graph.

A node's data is kept by the rows that it was written from, and written again only when one
of them has changed: a graph of a thousand jobs is mostly as it was when last asked for.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from headwater.api.base import Name
from headwater.api.graph import DatasetData, DatasetNode, Edge, JobNode
from headwater.openlineage.names import dataset_id, job_id
from headwater.openlineage.times import FOREVER
from headwater.server.lineage import datasets, jobs
from headwater.server.lineage.encoding import encode_answer
from headwater.server.lineage.facets import OMITTED
from headwater.server.lineage.metering import pack
from headwater.server.lineage.run_io import IoRow, io_rows
from headwater.server.lineage.runs import ShownRun
from headwater.server.lineage.schemas import schema_ids, unlisted_columns
from headwater.server.lineage.view import StoreView, moment
from headwater.server.lineage.walk import EdgeKey, Walk
from headwater.server.marquez.datasets import dataset_node
from headwater.server.marquez.jobs import job_node
from headwater.server.marquez.runs import RunWriter, begun_below, only_ended
from headwater.server.store.tables import INPUT, OUTPUT

_MANY = 1000  # datasets
_Row = tuple[Any, ...]
_PARENT, _ARGS, _STARTED, _ENDED = (
    ShownRun.__struct_fields__.index(name) for name in ("parent", "args", "started_at", "ended_at")
)


class _Job(NamedTuple):
    """All that a job's node is written from."""

    row: _Row
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    run: _Row | None
    ios: tuple[IoRow, ...]
    begun: int | None  # when the first run below its run began, where that counts

    @property
    def is_large(self) -> bool:
        """Whether it names so many datasets that its size must be bounded."""
        return len(self.inputs) + len(self.outputs) + len(self.ios) > _MANY

    @property
    def can_be_kept(self) -> bool:
        """Whether it is written from nothing else: not from a run above, nor from edges."""
        return self.run is None or self.run[_PARENT] is self.run[_ARGS] is None


def write_nodes(
    view: StoreView, walk: Walk, latest: dict[int, _Row],
    *, with_tags: bool, brief: bool = False, dated: bool = False,
) -> list[DatasetNode | JobNode]:  # fmt: skip
    """The nodes of the jobs and datasets of a walk, sorted by id.

    Brief, they have edges as ever, but no columns and no versions of what a run read and wrote.
    """
    told = _dataset_data(view, walk.datasets, with_tags=with_tags, brief=brief)
    names = {root: data.id for root, data in told.items()}
    ids = {root: dataset_id(name.namespace, name.name) for root, name in names.items()}
    ios = {} if brief else _by_run(io_rows(view, [row[0] for row in latest.values()]))
    ended = [run[0] for run in latest.values() if only_ended(run[_STARTED], run[_ENDED])]
    begun = begun_below(view, ended)
    found = [
        _Job(
            row,
            tuple(sorted(walk.inputs[job], key=ids.__getitem__)),
            tuple(sorted(walk.outputs[job], key=ids.__getitem__)),
            latest.get(job),
            tuple(ios.get(latest[job][0], ())) if job in latest else (),
            begun.get(latest[job][0]) if job in latest else None,
        )
        for job, row in jobs.plain_rows(view, [*walk.inputs]).items()
    ]
    found.sort(key=lambda job: (job.row[1], job.row[2]))
    edge = _dated_edges(walk) if dated else None
    into: dict[int, list[Edge]] = {root: [] for root in ids}
    out: dict[int, list[Edge]] = {root: [] for root in ids}
    nodes = list[DatasetNode | JobNode]()
    # A job told in brief is told as one that reads and writes nothing.
    shown = [job._replace(inputs=(), outputs=()) for job in found] if brief else found
    for job, data in zip(found, _job_data(view, shown, names), strict=True):
        number, node_id = job.row[0], job_id(job.row[1], job.row[2])
        if edge is None:
            reads = [Edge(ids[root], node_id) for root in job.inputs]
            writes = [Edge(node_id, ids[root]) for root in job.outputs]
        else:
            reads = [edge(ids[root], node_id, (number, INPUT, root)) for root in job.inputs]
            writes = [edge(node_id, ids[root], (number, OUTPUT, root)) for root in job.outputs]
        for root, read in zip(job.inputs, reads, strict=True):
            out[root].append(read)
        for root, written in zip(job.outputs, writes, strict=True):
            into[root].append(written)
        nodes.append(JobNode(node_id, data, reads, writes))
    nodes += [DatasetNode(ids[root], told[root], into[root], out[root]) for root in ids]
    nodes.sort(key=attrgetter("id"))
    return nodes


def _dated_edges(walk: Walk) -> Callable[[str, str, EdgeKey], Edge]:
    spans = walk.spans()

    def dated(origin: str, destination: str, key: EdgeKey) -> Edge:
        span = spans.get(key)
        if span is None:  # a child's, shown by its parent
            return Edge(origin, destination, None, None)
        last = None if span.until == FOREVER else moment(span.until)
        return Edge(origin, destination, moment(span.since), last)

    return dated


def _by_run(rows: list[IoRow]) -> dict[int, list[IoRow]]:
    found: dict[int, list[IoRow]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return found


def _job_data(view: StoreView, found: list[_Job], names: dict[int, Name]) -> list[Any]:
    """The data of jobs, in JSON; `names` has those of all their datasets."""
    kept = view.contents.nodes
    keys = [_key(view, job, names) for job in found]
    known: list[Raw | None] = [kept.get(key) for key in keys]
    missing = [job for job, data in zip(found, known, strict=True) if data is None]
    view.budget.read_rows(sum(len(memoryview(data)) for data in known if data is not None))
    runs = {job.run[0]: ShownRun.of(job.run) for job in missing if job.run is not None}
    ios = [io for job in missing for io in job.ios]
    begun = {job.run[0]: job.begun for job in missing if job.run and job.begun is not None}
    writer = RunWriter(view, runs.values(), ios, begun=begun)

    def write(job: _Job, key: bytes) -> Raw:
        run = writer.write(runs[job.run[0]]) if job.run is not None else None
        inputs, outputs = ([names[root] for root in side] for side in (job.inputs, job.outputs))
        node = job_node(jobs.JobRowShown(job.row), inputs, outputs, run)
        written = Raw((encode_answer if job.is_large else msgspec.json.encode)(node))
        view.budget.read_rows(len(memoryview(written)))
        is_whole = job.can_be_kept and OMITTED.encode() not in bytes(written)
        return kept.put(key, written) if is_whole else written

    return [
        write(job, key) if data is None else data
        for job, key, data in zip(found, keys, known, strict=True)
    ]


def _key(view: StoreView, job: _Job, names: dict[int, Name]) -> bytes:
    """All that a job is written from; a dataset of some namespaces may get another name there."""
    if not view.scope.is_limited:
        return pack(job)
    shown = (names[root] for root in (*job.inputs, *job.outputs))
    return pack((*job, view.scope.prefixes, [(name.namespace, name.name) for name in shown]))


def _dataset_data(
    view: StoreView, roots: set[int], *, with_tags: bool, brief: bool
) -> dict[int, DatasetData]:
    members = datasets.member_rows(view, [*roots])
    schemas = {} if brief else schema_ids(view, [*members])
    unlisted = {} if brief else unlisted_columns(view, [*members])
    tags = datasets.Tags(view, [*members])
    kept, data, missing = view.contents.nodes, dict[int, DatasetData](), list[int]()
    keys = {
        root: pack(
            (
                "dataset",
                rows,
                schemas.get(root),
                tags.all_of(root),
                with_tags,
                unlisted.get(root),
                view.scope.prefixes,
            )
        )
        for root, rows in members.items()
    }
    for root, key in keys.items():
        known = kept.get(key)
        if known is None:
            missing.append(root)
        else:
            data[root] = known
    written: list[Any] = [known.fields for known in data.values()]
    view.budget.take_columns(sum(len(memoryview(fields)) for fields in written))
    read = view.schemas({schemas[root] for root in missing if root in schemas})
    shown = datasets.shown_rows(view, {root: members[root] for root in missing})
    for root, row in shown.items():
        schema = read.get(schemas.get(root, 0))
        node = dataset_node(row, tags, schema, unlisted.get(root, ()), with_tags=with_tags)
        data[root] = kept.put(keys[root], node)
    return data
