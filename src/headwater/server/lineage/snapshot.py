"""A part of the graph at one moment, in the terms in which two moments are compared."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headwater.api.graph import Transformation
from headwater.openlineage.names import DatasetName, FieldName, JobName, NodeId
from headwater.server.lineage.columns import ColumnWalk
from headwater.server.lineage.jobs import job_names
from headwater.server.lineage.transformations import told_steps
from headwater.server.lineage.validity import ValiditySpans, Window
from headwater.server.lineage.view import StoreView
from headwater.server.lineage.walk import Walk, walk_around
from headwater.server.store.contents import Field
from headwater.server.store.tables import INPUT, OUTPUT

Pair = tuple[str, str]  # origin and destination
_EDGE, _FIELD = 512, 160  # bytes that an edge or a field takes in a snapshot, about


class Validity(NamedTuple):
    """Something of a snapshot: since when and until when, and who may have made or ended it.

    `job` is the job of an edge (0: none), `io` its side, `datasets` the names it is about.
    """

    since: int
    until: int
    job: int
    io: int
    datasets: tuple[int, ...]


class ColumnValidity(NamedTuple):
    """A column edge with what happens on it, and since when just that."""

    validity: Validity
    steps: list[Transformation]
    told: Validity


class GraphSnapshot(NamedTuple):
    """Nodes, edges, fields and column edges."""

    nodes: set[str]
    edges: dict[Pair, Validity]
    fields: dict[tuple[str, str], tuple[Field, Validity]]
    columns: dict[Pair, ColumnValidity]

    def everything(self) -> Iterator[Validity]:
        """Since when and until when each thing in it stands."""
        yield from self.edges.values()
        yield from (validity for _, validity in self.fields.values())
        for column in self.columns.values():
            yield from (column.validity, column.told)


EMPTY = GraphSnapshot(set(), {}, {}, {})


def around(view: StoreView, node: NodeId, depth: int, window: Window) -> GraphSnapshot | None:
    """The snapshot around a node; None where there was no such node."""
    walk = walk_around(view, node, depth)
    return None if walk is None else take(walk, walk.datasets, walk.datasets, window)


def take(
    walk: Walk, described: Iterable[int], into: Iterable[int], window: Window
) -> GraphSnapshot:
    """A snapshot of a walk, of the fields of some datasets and the column edges into some.

    Times are right within the window.

    Raises: AnswerTooLarge, ServerBusy.
    """
    view, columns = walk.view, ColumnWalk(walk.view)
    columns.into(into)
    columns.load_schemas({*described})
    schemas = filter(None, map(columns.schema, described))
    view.budget.take_columns(_FIELD * sum(len(schema.fields) for schema in schemas))
    roots = {*walk.datasets, *described, *(root for pair in columns.steps for root, _ in pair)}
    names, history = view.names.of(roots), ValiditySpans(view, window, roots)
    jobs = {n: str(JobName(*name)) for n, name in job_names(view, {*walk.inputs}).items()}
    edges: dict[Pair, Validity] = {}
    spans = walk.spans()
    view.budget.grow(len(spans) * _EDGE)
    for (job, io, root), (since, until) in spans.items():
        ends, members = (str(names[root]), jobs[job]), history.members[root]
        edges[ends if io == INPUT else ends[::-1]] = Validity(since, until, job, io, members)
    fields = {
        (str(names[root]), field.name): (
            field,
            Validity(*history.field(root, field), 0, OUTPUT, history.members[root]),
        )
        for root in described
        if (schema := columns.schema(root)) is not None
        for field in schema.fields
    }
    nodes = {str(names[root]) for root in walk.datasets} | {*jobs.values()}
    return GraphSnapshot(nodes, edges, fields, _columns(columns, names, history))


def _columns(
    columns: ColumnWalk, names: dict[int, DatasetName], history: ValiditySpans
) -> dict[Pair, ColumnValidity]:
    found: dict[Pair, ColumnValidity] = {}
    for (to, origin), steps in columns.steps.items():
        jobs = {step.job for step in steps}
        spans = [history.column_edge(to, origin, job) for job in jobs]
        since, until = min(span[0] for span in spans), max(span[1] for span in spans)
        job = steps[0].job if len(jobs) == 1 else 0
        validity = Validity(since, until, job, OUTPUT, history.members[to[0]])
        told = told_steps(step.given for step in steps)
        pair = (
            str(FieldName(*names[origin[0]], origin[1])),
            str(FieldName(*names[to[0]], to[1])),
        )
        same = [history.column_edge(to, origin, s.job, s.given.steps) for s in steps]
        told_since = validity._replace(since=max(span[0] for span in same))
        found[pair] = ColumnValidity(validity, sorted(told, key=str), told_since)
    return found
