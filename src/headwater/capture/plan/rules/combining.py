"""Rules for plan nodes with several inputs: joins, unions and the other set operations."""

from headwater.capture.plan.lineage import Effect, Relation, changed, merge
from headwater.capture.plan.reader import Reader, RelationRule, Scope, together
from headwater.capture.plan.rules.basic import replace, stateful
from headwater.capture.plan.sources import made_up
from headwater.capture.plan.tree import Node

_LEFT_ONLY = frozenset({"LeftSemi", "LeftAnti"})


def _join_kind(node: Node) -> str:
    kind = node.get("joinType")
    text = str(kind.get("object") or kind.get("product-class")) if isinstance(kind, dict) else ""
    return text.rpartition(".")[2].rstrip("$")


def _join(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    both = stateful(together(inputs))
    conditions = list(node.expressions())
    on = reader.edges(conditions, Scope.over(inputs, outer), Effect.JOIN)
    columns = inputs[0].columns if _join_kind(node) in _LEFT_ONLY else both.columns
    return replace(both, columns, on)


def _lateral_join(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    """The right side is a subquery that may name columns of the left."""
    scope = Scope.over(inputs, outer)
    subquery = node.tree("right")
    plan = subquery.tree("plan") if subquery is not None else None
    right = reader.relation(plan, scope) if plan is not None else Relation(())
    both = together((inputs[0], right))
    on = reader.edges(node.trees("condition"), Scope(both.by_id(), outer), Effect.JOIN)
    columns = inputs[0].columns if _join_kind(node) in _LEFT_ONLY else both.columns
    return replace(both, columns, on)


def _union(_: Reader, node: Node, inputs: tuple[Relation, ...], _outer: Scope | None) -> Relation:
    """Positional, under the names and ids of the first input."""
    if not inputs:
        return made_up(node)
    columns = tuple(
        (same[0][0], same[0][1], merge(column for _, _, column in same))
        for same in zip(*(relation.columns for relation in inputs), strict=True)
    )
    return replace(together(inputs), columns)


def _intersect(
    _: Reader, _node: Node, inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    """Rows of the left, kept or not by whole rows of both sides."""
    both = together(inputs)
    return replace(both, inputs[0].columns, changed(both.everything(), Effect.JOIN))


def _except(_: Reader, _node: Node, inputs: tuple[Relation, ...], _outer: Scope | None) -> Relation:
    both = together(inputs)
    return replace(both, inputs[0].columns, changed(both.everything(), Effect.FILTER))


RULES: dict[str, RelationRule] = {
    "Join": _join,
    "AsOfJoin": _join,
    "LateralJoin": _lateral_join,
    "Union": _union,
    "Intersect": _intersect,
    "Except": _except,
}
