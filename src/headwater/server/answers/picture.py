"""A part of the graph at one moment, in the terms in which two moments are compared."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from headwater.openlineage.names import FieldName, JobName, NodeId, NodeKind
from headwater.server.answers.naming import SchemaThen
from headwater.server.answers.past import PastWalk
from headwater.server.answers.past_columns import PastColumnWalk
from headwater.server.answers.reading import Reading
from headwater.server.answers.runs import job_names
from headwater.server.answers.steps import told_steps
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
    """A column edge with what happens on it."""

    seen: Seen
    steps: list[dict[str, Any]]


class Picture(NamedTuple):
    """Nodes, edges, fields and column edges."""

    nodes: set[str]
    edges: dict[Pair, Seen]
    fields: dict[tuple[str, str], tuple[Field, Seen]]
    columns: dict[Pair, ColumnSeen]


EMPTY = Picture(set(), {}, {}, {})


def around(reading: Reading, node: NodeId, depth: int) -> Picture | None:
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
    return paint(reading, walk, walk.datasets, walk.datasets)


def paint(
    reading: Reading, walk: PastWalk, described: Iterable[int], into: Iterable[int]
) -> Picture:
    """A picture of a walk, of the fields of some datasets and the column edges into some."""
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
    return Picture(nodes, edges, _fields(columns, described), _columns(reading, walk, columns))


def _fields(
    columns: PastColumnWalk, roots: Iterable[int]
) -> dict[tuple[str, str], tuple[Field, Seen]]:
    found = {}
    for root in roots:
        then = columns.schemas.get(root)
        if then is None:
            continue
        members = tuple(columns.naming.members([root]))
        seen = Seen(then.since, then.until, 0, OUTPUT, members)
        for field in then.schema.fields:
            found[columns.naming.node_id(root), field.name] = field, seen
    return found


def _columns(reading: Reading, walk: PastWalk, columns: PastColumnWalk) -> dict[Pair, ColumnSeen]:
    naming = walk.naming
    spans = _mapping_spans(reading, columns)
    found: dict[Pair, ColumnSeen] = {}
    for (to, origin), steps in columns.steps.items():
        members = tuple(naming.members([to[0]]))
        schemas = [s for s in map(columns.schemas.get, (to[0], origin[0])) if s]
        seen = _column_span(steps[0].job, members, spans, schemas)
        told = [t for step in steps for t in told_steps(step.given)]
        unique = [t for i, t in enumerate(told) if t not in told[:i]]
        pair = (
            str(FieldName(*naming.name(origin[0]), origin[1])),
            str(FieldName(*naming.name(to[0]), to[1])),
        )
        found[pair] = ColumnSeen(seen, sorted(unique, key=str))
    return found


def _mapping_spans(
    reading: Reading, columns: PastColumnWalk
) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """The mappings and edges on which column edges rest, by (dataset's name, job)."""
    members = columns.naming.members({to[0] for to, _ in columns.steps})
    spans: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for table, extra in (("mapping_span", ""), ("edge", " AND io = 1")):
        rows = reading.session.all(
            f"SELECT dataset, job, since, until FROM {table} WHERE dataset = ANY(?){extra} "
            "AND since <= ? AND until > ?", [*members], reading.at, reading.at,
        )  # fmt: skip
        for dataset, job, since, until in rows:
            spans.setdefault((dataset, job), []).append((since, until))
    return spans


def _column_span(
    job: int,
    members: tuple[int, ...],
    spans: dict[tuple[int, int], list[tuple[int, int]]],
    schemas: list[SchemaThen],
) -> Seen:
    """A column edge stands while all stand on which it rests."""
    rests = [span for member in members for span in spans.get((member, job), ())]
    rests += [(then.since, then.until) for then in schemas]
    since, until = max(span[0] for span in rests), min(span[1] for span in rests)
    return Seen(since, until, job, OUTPUT, members)
