"""Rules for functions over arrays that take a lambda whose argument is an element.

They read their arguments themselves, for the lambda's variable has to be known before its body.
Other such functions depend on all that they are given.
"""

from headwater.capture.plan.formulas import bare
from headwater.capture.plan.lineage import Column, Effect
from headwater.capture.plan.nested import ELEMENT
from headwater.capture.plan.reader import ExpressionRule, Reader, Scope
from headwater.capture.plan.sources import expr_id
from headwater.capture.plan.tree import Node


def _transform(reader: Reader, node: Node, _inputs: tuple[Column, ...], scope: Scope) -> Column:
    """Each element as the lambda makes it; how many there are depends on the array."""
    array, body = _applied(reader, node, scope)
    count = array.through(Effect.CONDITIONAL)
    text = f"transform({bare(array.formula)}, {bare(body.formula)})"
    return Column(count.edges, {ELEMENT: body.converted()}, count.notes, formula=text)


def _filter(reader: Reader, node: Node, _inputs: tuple[Column, ...], scope: Scope) -> Column:
    """The elements for which the lambda is true."""
    array, body = _applied(reader, node, scope)
    deciding = body.through(Effect.TRANSFORMATION)
    text = f"filter({bare(array.formula)}, {bare(body.formula)})"
    kept = array.converted() if array.fields else array.through(Effect.TRANSFORMATION)
    return kept.with_edges(deciding.edges).with_formula(text)


def _applied(reader: Reader, node: Node, scope: Scope) -> tuple[Column, Column]:
    """The array, and what the lambda makes of an element."""
    array, function = reader.column(node.children[0], scope), node.children[1]
    variables = {expr_id(variable): Column() for variable in function.children[1:]}
    element = array.field(ELEMENT) if not array.decoded else array
    first = next(iter(variables), -1)
    known = {**scope.columns, **variables, first: element.with_formula(array.formula)}
    inner = Scope(known, scope.outer, scope.common)
    return array, reader.column(function.children[0], inner)


def _variable(_: Reader, node: Node, _inputs: tuple[Column, ...], scope: Scope) -> Column:
    return scope.find(expr_id(node)) or Column()


LAZY = frozenset({"ArrayTransform", "ArrayFilter"})

RULES: dict[str, ExpressionRule] = {
    "ArrayTransform": _transform,
    "ArrayFilter": _filter,
    "NamedLambdaVariable": _variable,
}
