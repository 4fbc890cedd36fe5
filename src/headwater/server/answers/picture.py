"""A part of the graph at one moment, in the terms in which two moments are compared."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from headwater.openlineage.names import FieldName, JobName, NodeId, NodeKind
from headwater.server.answers.past import PastWalk
from headwater.server.answers.past_columns import PastColumnWalk
from headwater.server.answers.reading import Reading
from headwater.server.answers.runs import job_names
from headwater.server.answers.steps import told_steps
from headwater.server.answers.validity import Validity, Window
from headwater.server.store.contents import Field
from headwater.server.store.tables import INPUT, OUTPUT

Pair = tuple[str, str]  # origin and destination


class Seen(NamedTuple):
    """Something of a picture: since when and until when, and who may have made or ended it.

    `job` is the job of an edge (0: none), `io` its side, `datasets` the names it is about.
    """

    since: int
    until: int
    job: int
    io: int
    datasets: tuple[int, ...]


class ColumnSeen(NamedTuple):
    """A column edge with what happens on it, and since when just that."""

    seen: Seen
    steps: list[dict[str, Any]]
    told: Seen


class Picture(NamedTuple):
    """Nodes, edges, fields and column edges."""

    nodes: set[str]
    edges: dict[Pair, Seen]
    fields: dict[tuple[str, str], tuple[Field, Seen]]
    columns: dict[Pair, ColumnSeen]


EMPTY = Picture(set(), {}, {}, {})


def around(reading: Reading, node: NodeId, depth: int, window: Window) -> Picture | None:
    """The picture around a node; None where there was no such node."""
    walk = PastWalk(reading)
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
    return paint(reading, walk, walk.datasets, walk.datasets, window)


def paint(
    reading: Reading, walk: PastWalk, described: Iterable[int], into: Iterable[int], window: Window
) -> Picture:
    """A picture of a walk, of the fields of some datasets and the column edges into some.

    Times are right within the window.
    """
    names = {n: str(JobName(*name)) for n, name in job_names(reading, {*walk.inputs}).items()}
    naming = walk.naming
    edges: dict[Pair, Seen] = {}
    for (job, io, root), (since, until) in walk.edges.items():
        ends = naming.node_id(root), names[job]
        members = tuple(naming.members([root]))
        edges[ends if io == INPUT else ends[::-1]] = Seen(since, until, job, io, members)
    columns = PastColumnWalk(reading, naming)
    columns.into(into)
    columns.load_schemas({*described})
    nodes = {naming.node_id(root) for root in walk.datasets} | {*names.values()}
    roots = {*described, *(root for pair in columns.steps for root, _ in pair)}
    validity = Validity(reading, naming, window, roots)
    return Picture(nodes, edges, _fields(columns, described, validity), _columns(columns, validity))


def _fields(
    columns: PastColumnWalk, roots: Iterable[int], validity: Validity
) -> dict[tuple[str, str], tuple[Field, Seen]]:
    found = {}
    for root in roots:
        schema = columns.schema(root)
        members = tuple(columns.naming.members([root]))
        for field in schema.fields if schema else ():
            seen = Seen(*validity.field(root, field), 0, OUTPUT, members)
            found[columns.naming.node_id(root), field.name] = field, seen
    return found


def _columns(columns: PastColumnWalk, validity: Validity) -> dict[Pair, ColumnSeen]:
    naming = columns.naming
    found: dict[Pair, ColumnSeen] = {}
    for (to, origin), steps in columns.steps.items():
        jobs = {step.job for step in steps}
        spans = [validity.column_edge(to, origin, job) for job in jobs]
        since, until = min(span[0] for span in spans), max(span[1] for span in spans)
        job = steps[0].job if len(jobs) == 1 else 0
        seen = Seen(since, until, job, OUTPUT, tuple(naming.members([to[0]])))
        told = [t for step in steps for t in told_steps(step.given)]
        unique = [t for i, t in enumerate(told) if t not in told[:i]]
        pair = (
            str(FieldName(*naming.name(origin[0]), origin[1])),
            str(FieldName(*naming.name(to[0]), to[1])),
        )
        same = [validity.column_edge(to, origin, s.job, s.given.steps) for s in steps]
        told_since = seen._replace(since=max(span[0] for span in same))
        found[pair] = ColumnSeen(seen, sorted(unique, key=str), told_since)
    return found
