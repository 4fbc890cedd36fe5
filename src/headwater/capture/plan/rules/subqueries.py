"""Rules for queries inside expressions, for common table expressions and common expressions."""

from headwater.capture.plan.lineage import Column, Effect, Relation, changed, merge
from headwater.capture.plan.reader import (
    ExpressionRule,
    Reader,
    RelationRule,
    Scope,
    together,
    unknown_relation,
)
from headwater.capture.plan.sources import expr_id, made_up
from headwater.capture.plan.tree import Node

# Enough rounds for lineage to travel through each column of a recursive query.
_ROUNDS = 8


def rows_of(relation: Relation) -> Column:
    """Everything that decides which rows a subquery gives, as edges of one value."""
    presence = merge(
        Column(changed((e,), Effect.FILTER))
        for e in relation.everything()
        if e.origin in relation.presence
    )
    return Column(relation.rows | presence.edges, notes=relation.notes())


def _subquery(reader: Reader, node: Node, _inputs: tuple[Column, ...], scope: Scope) -> Column:
    plan = node.tree("plan")
    if plan is None:
        return Column()
    relation = reader.relation(plan, scope)
    if len(relation.columns) == 1:
        values = relation.columns[0][2]
        return values.with_edges(rows_of(relation).edges)
    values = merge(column.through(Effect.TRANSFORMATION) for _, _, column in relation.columns)
    return values.with_edges(rows_of(relation).edges)


def _exists(reader: Reader, node: Node, _inputs: tuple[Column, ...], scope: Scope) -> Column:
    plan = node.tree("plan")
    return rows_of(reader.relation(plan, scope)) if plan is not None else Column()


def _with(reader: Reader, node: Node, _inputs: tuple[Column, ...], scope: Scope) -> Column:
    """An expression with parts written once, as Spark 4 makes of `nullif` and `between`."""
    body, *definitions = node.children
    common = merge(reader.column(definition, scope) for definition in definitions)
    return reader.column(body, scope.within(common))


def _common_definition(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    return inputs[0]


def _common_reference(_: Reader, _node: Node, _inputs: tuple[Column, ...], scope: Scope) -> Column:
    return scope.common


def _with_cte(
    _: Reader, _node: Node, inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    return inputs[-1]


def _definition(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    reader.ctes[int(node.get("id"))] = inputs[0]
    return inputs[0]


def _reference(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    defined = reader.ctes.get(int(node.get("cteId")))
    if defined is None:
        return unknown_relation(reader, node, inputs, outer)
    return _renamed(defined, node)


def _loop(
    reader: Reader, node: Node, _inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    """A recursive query: its own result feeds it, until nothing new is learned."""
    loop_id = int(node.get("id"))
    ids = [int(i["id"]) for i in node.get("outputAttrIds") or ()]
    anchor, recursion = node.children
    current = reader.relation(anchor, outer)
    for _ in range(_ROUNDS):
        reader.loops[loop_id] = current
        step = reader.relation(recursion, outer)
        following = _either(current, step)
        if following == current:
            break
        current = following
    columns = tuple(
        (ids[n] if n < len(ids) else i, name, column)
        for n, (i, name, column) in enumerate(current.columns)
    )
    return Relation(columns, current.rows, current.presence)


def _loop_reference(
    reader: Reader, node: Node, _inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    current = reader.loops.get(int(node.get("loopId")))
    return _renamed(current, node) if current is not None else made_up(node)


def _either(first: Relation, second: Relation) -> Relation:
    columns = tuple(
        (i, name, merge((a, b)))
        for (i, name, a), (_, _, b) in zip(first.columns, second.columns, strict=True)
    )
    both = together((first, second))
    return Relation(columns, both.rows, both.presence)


def _renamed(relation: Relation, node: Node) -> Relation:
    """The same columns under the ids that a reference gives them."""
    columns = tuple(
        (expr_id(attribute), name, column)
        for attribute, (_, name, column) in zip(node.trees("output"), relation.columns, strict=True)
    )
    return Relation(
        columns, relation.rows, relation.presence, relation.watermark, relation.streaming
    )


LAZY = frozenset({"UnionLoop", "With"})

EXPRESSIONS: dict[str, ExpressionRule] = {
    "ScalarSubquery": _subquery,
    "ListQuery": _subquery,
    "LateralSubquery": _subquery,
    "FunctionTableSubqueryArgumentExpression": _subquery,
    "Exists": _exists,
    "With": _with,
    "CommonExpressionDef": _common_definition,
    "CommonExpressionRef": _common_reference,
}
RELATIONS: dict[str, RelationRule] = {
    "WithCTE": _with_cte,
    "CTERelationDef": _definition,
    "CTERelationRef": _reference,
    "UnionLoop": _loop,
    "UnionLoopRef": _loop_reference,
}
