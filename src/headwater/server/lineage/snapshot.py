"""A part of the graph at one moment, in the terms in which two moments are compared."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from headwater.openlineage.names import FieldName, JobName, NodeId, NodeKind
from headwater.server.lineage.past_columns import PastColumnWalk
from headwater.server.lineage.transformations import told_steps
from headwater.server.lineage.validity import ValiditySpans, Window
from headwater.server.lineage.view import StoreView
from headwater.server.lineage.walk import PastWalk
from headwater.server.marquez.runs import job_names
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
    steps: list[dict[str, Any]]
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
    walk = PastWalk(view)
    if node.kind is NodeKind.JOB:
        job = walk.naming.find_job(node)
        if job is None:
            return None
        walk.go({job}, depth)
    else:
        column = walk.naming.find_field(node) if node.kind is NodeKind.FIELD else None
        root = column[0] if column else walk.naming.find_dataset(node)
        if root is None:
            return None
        walk.from_dataset(root, depth)
    return take(view, walk, walk.datasets, walk.datasets, window)


def take(
    view: StoreView, walk: PastWalk, described: Iterable[int], into: Iterable[int], window: Window
) -> GraphSnapshot:
    """A snapshot of a walk, of the fields of some datasets and the column edges into some.

    Times are right within the window.

    Raises: AnswerTooLarge, ServerBusy.
    """
    view.budget.grow(len(walk.edges) * _EDGE)
    names = {n: str(JobName(*name)) for n, name in job_names(view, {*walk.inputs}).items()}
    naming = walk.naming
    edges: dict[Pair, Validity] = {}
    for (job, io, root), (since, until) in walk.edges.items():
        ends = naming.node_id(root), names[job]
        members = tuple(naming.members([root]))
        edges[ends if io == INPUT else ends[::-1]] = Validity(since, until, job, io, members)
    columns = PastColumnWalk(view, naming)
    columns.into(into)
    columns.load_schemas({*described})
    schemas = filter(None, map(columns.schema, described))
    view.budget.take_columns(_FIELD * sum(len(schema.fields) for schema in schemas))
    nodes = {naming.node_id(root) for root in walk.datasets} | {*names.values()}
    roots = {*described, *(root for pair in columns.steps for root, _ in pair)}
    history = ValiditySpans(view, naming, window, roots)
    return GraphSnapshot(
        nodes, edges, _fields(columns, described, history), _columns(columns, history)
    )


def _fields(
    columns: PastColumnWalk, roots: Iterable[int], history: ValiditySpans
) -> dict[tuple[str, str], tuple[Field, Validity]]:
    found = {}
    for root in roots:
        schema = columns.schema(root)
        members = tuple(columns.naming.members([root]))
        for field in schema.fields if schema else ():
            validity = Validity(*history.field(root, field), 0, OUTPUT, members)
            found[columns.naming.node_id(root), field.name] = field, validity
    return found


def _columns(columns: PastColumnWalk, history: ValiditySpans) -> dict[Pair, ColumnValidity]:
    naming = columns.naming
    found: dict[Pair, ColumnValidity] = {}
    for (to, origin), steps in columns.steps.items():
        jobs = {step.job for step in steps}
        spans = [history.column_edge(to, origin, job) for job in jobs]
        since, until = min(span[0] for span in spans), max(span[1] for span in spans)
        job = steps[0].job if len(jobs) == 1 else 0
        validity = Validity(since, until, job, OUTPUT, tuple(naming.members([to[0]])))
        told = told_steps(step.given for step in steps)
        pair = (
            str(FieldName(*naming.name(origin[0]), origin[1])),
            str(FieldName(*naming.name(to[0]), to[1])),
        )
        same = [history.column_edge(to, origin, s.job, s.given.steps) for s in steps]
        told_since = validity._replace(since=max(span[0] for span in same))
        found[pair] = ColumnValidity(validity, sorted(told, key=str), told_since)
    return found
