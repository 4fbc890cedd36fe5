"""Rules for nodes that run the user's own code over whole rows: all outputs see all inputs."""

from headwater.capture.plan.lineage import Column, Edges, Effect, Note, Relation, changed
from headwater.capture.plan.reader import Reader, RelationRule, Scope, opaque
from headwater.capture.plan.rules.basic import replace, stateful
from headwater.capture.plan.sources import expr_id
from headwater.capture.plan.tree import Node

_GROUPING = ("groupingAttributes", "groupingAttrs")
_OUTPUT = ("output", "outputAttrs", "resultAttributes", "serializer", "newColumns")

_PYTHON = (
    "MapInPandas",
    "PythonMapInArrow",
    "MapInArrow",
    "FlatMapGroupsInPandas",
    "FlatMapGroupsInArrow",
    "FlatMapCoGroupsInPandas",
    "FlatMapCoGroupsInArrow",
    "FlatMapGroupsInPandasWithState",
    "TransformWithStateInPySpark",
    "TransformWithStateInPandas",
    "ScriptTransformation",
)
# What Spark 3.5 calls them.
_RENAMED = {"PythonMapInArrow": "MapInArrow"}
# Typed Datasets of Scala and Java, and what carries objects between their functions.
_TYPED = (
    "DeserializeToObject",
    "SerializeFromObject",
    "MapElements",
    "MapPartitions",
    "AppendColumns",
    "AppendColumnsWithObject",
    "MapGroups",
    "CoGroup",
    "FlatMapGroupsWithState",
    "TransformWithState",
    "MapPartitionsInR",
    "FlatMapGroupsInR",
)


def _user_code(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    output = next((trees for field in _OUTPUT if (trees := node.trees(field))), ())
    named = [(expr_id(a), str(a.get("name"))) for a in output if a.get("name")]
    function = node.tree("functionExpr")
    name = function.get("name") if function is not None else None
    kind = _RENAMED.get(node.type_name, node.type_name)
    label = f"{kind} {name}" if name else kind
    below = tuple(stateful(relation) for relation in inputs)
    result = opaque(below, named or _object(node), Note("opaque", label))
    keys = [tree for field in _GROUPING for tree in node.trees(field)]
    rows = reader.edges(keys, Scope.over(inputs, outer), Effect.GROUP_BY)
    return replace(result, rows=rows | _cogroup_keys(node, inputs))


def _cogroup_keys(node: Node, inputs: tuple[Relation, ...]) -> Edges:
    """Of a cogroup only the number of keys is written; they lead each side's columns."""
    keys = [
        column.flat()
        for field, relation in zip(("leftGroupingLen", "rightGroupingLen"), inputs, strict=False)
        if isinstance(node.get(field), int)
        for _, _, column in relation.columns[: node.get(field)]
    ]
    return changed(frozenset().union(*keys), Effect.GROUP_BY)


def _typed_filter(
    _: Reader, _node: Node, inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    child = inputs[0]
    note = Note("opaque", "TypedFilter")
    columns = tuple((i, name, column.with_note(note)) for i, name, column in child.columns)
    origins = frozenset(edge.origin for edge in child.everything())
    return Relation(columns, child.rows, child.presence | origins, child.watermark, child.streaming)


def _sequence(
    _: Reader, node: Node, inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    """The index of pandas-on-Spark: a number for each row, before the columns that are there."""
    attribute = node.tree("sequenceAttr")
    index = (
        () if attribute is None else ((expr_id(attribute), str(attribute.get("name")), Column()),)
    )
    return replace(inputs[0], (*index, *inputs[0].columns))


def _object(node: Node) -> list[tuple[int, str]]:
    attribute = node.tree("outputObjAttr")
    return [] if attribute is None else [(expr_id(attribute), str(attribute.get("name")))]


RULES: dict[str, RelationRule] = {
    **dict.fromkeys((*_PYTHON, *_TYPED), _user_code),
    "TypedFilter": _typed_filter,
    "AttachDistributedSequence": _sequence,
}
