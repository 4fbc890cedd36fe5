"""Rules for plan nodes with one input: projections, filters, aggregates, windows, sorting."""

from headwater.capture.plan.lineage import Column, Edges, Effect, Note, Relation, changed, merge
from headwater.capture.plan.reader import Reader, RelationRule, Scope, opaque
from headwater.capture.plan.sources import expr_id
from headwater.capture.plan.tree import Node

# These hand on the rows and columns of their one child.
_TRANSPARENT = (
    "SubqueryAlias",
    "View",
    "ResolvedHint",
    "UnresolvedHint",
    "Repartition",
    "RepartitionByExpression",
    "RebalancePartitions",
    "CollectMetrics",
    "GlobalLimit",
    "LocalLimit",
    "LimitAll",
    "Limit",
    "Offset",
    "Tail",
    "Sample",
    "ReturnAnswer",
    "Subquery",
    "UpdateEventTimeWatermarkColumn",
    "WriteToMicroBatchDataSource",
    "WriteToMicroBatchDataSourceV1",
    "WriteToContinuousDataSource",
    "NoopCommand",
    "PipeOperator",
)


def replace(
    relation: Relation,
    columns: tuple[tuple[int, str, Column], ...] | None = None,
    rows: Edges | None = None,
) -> Relation:
    """The same relation with other columns, or with more deciding about its rows."""
    return Relation(
        relation.columns if columns is None else columns,
        relation.rows if rows is None else relation.rows | rows,
        relation.presence,
        relation.watermark,
        relation.streaming,
    )


def stateful(relation: Relation) -> Relation:
    """What a stateful operator sees of a stream: rows behind the watermark are dropped."""
    return replace(relation, rows=relation.watermark)


def _transparent(
    _: Reader, _node: Node, inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    return inputs[0]


def _project(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    scope = Scope.over(inputs, outer)
    return replace(inputs[0], reader.named(node.trees("projectList"), scope))


def _filter(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    scope = Scope.over(inputs, outer)
    return replace(inputs[0], rows=reader.edges(node.trees("condition"), scope, Effect.FILTER))


def _sort(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    if node.get("global") is False:
        return inputs[0]  # within partitions: how rows are written, and nothing that they hold
    scope = Scope.over(inputs, outer)
    return replace(inputs[0], rows=reader.edges(node.trees("order"), scope, Effect.SORT))


def _aggregate(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    child = stateful(inputs[0])
    scope = Scope.over(inputs, outer)
    keys = reader.edges(node.trees("groupingExpressions"), scope, Effect.GROUP_BY)
    grouped = replace(child, rows=keys)
    columns = reader.named(node.trees("aggregateExpressions"), scope)
    if not grouped.rows:
        columns = tuple((i, n, _counted(c, child)) for i, n, c in columns)
    return replace(grouped, columns)


def _counted(column: Column, child: Relation) -> Column:
    """`count(*)` over a whole table is decided by the table's rows: by all its fields."""
    if column.flat():
        return column
    return column.with_edges(changed(child.everything(), Effect.GROUP_BY))


def _window(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    scope = Scope.over(inputs, outer)
    added = reader.named(node.trees("windowExpressions"), scope)
    return replace(inputs[0], inputs[0].columns + added)


def _distinct(
    _: Reader, _node: Node, inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    child = stateful(inputs[0])
    return replace(child, rows=changed(child.everything(), Effect.GROUP_BY))


def _deduplicate(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    scope = Scope.over(inputs, outer)
    keys = reader.edges(node.trees("keys"), scope, Effect.GROUP_BY)
    return replace(stateful(inputs[0]), rows=keys)


def _expand(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    """Every input row several times; an output column is one of its projections' values."""
    if not node.get("projections"):
        return _unwritten_expand(node, inputs)
    scope = Scope.over(inputs, outer)
    rows = [
        [reader.column(expression, scope) for expression in _trees(projection)]
        for projection in node.get("projections")
    ]
    columns = tuple(
        (expr_id(attribute), str(attribute.get("name")), merge(row[n] for row in rows))
        for n, attribute in enumerate(node.trees("output"))
    )
    return replace(inputs[0], columns)


def _unwritten_expand(node: Node, inputs: tuple[Relation, ...]) -> Relation:
    """Spark leaves the projections of some grouping sets, such as those over a union, out of JSON.

    Each of them is then the child's columns in order, or null, and numbers of the set.
    """
    child, output = inputs[0], node.trees("output")
    named = [(expr_id(attribute), str(attribute.get("name"))) for attribute in output]
    below = [name for _, name, _ in child.columns]
    if [name for _, name in named[: len(below)]] != below:
        return opaque(inputs, named, Note("unknown", node.type_name))
    numbers = [Column()] * (len(named) - len(below))
    values = [*(column for _, _, column in child.columns), *numbers]
    columns = tuple((*name, value) for name, value in zip(named, values, strict=True))
    return replace(child, columns)


def _trees(projection: list[list[dict[str, object]]]) -> tuple[Node, ...]:
    holder = Node({"class": "Projection", "num-children": 0, "list": projection}, ())
    return holder.trees("list")


def _watermark(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    child = inputs[0]
    if not child.streaming:
        return child
    late = reader.edges(node.trees("eventTime"), Scope.over(inputs, outer), Effect.FILTER)
    return Relation(
        child.columns, child.rows, child.presence, child.watermark | late, child.streaming
    )


RULES: dict[str, RelationRule] = {
    **dict.fromkeys(_TRANSPARENT, _transparent),
    "Project": _project,
    "Filter": _filter,
    "Sort": _sort,
    "Aggregate": _aggregate,
    "Window": _window,
    "Distinct": _distinct,
    "Deduplicate": _deduplicate,
    "DeduplicateWithinWatermark": _deduplicate,
    "Expand": _expand,
    "EventTimeWatermark": _watermark,
}
