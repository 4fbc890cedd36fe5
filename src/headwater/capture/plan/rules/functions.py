"""Rules for functions whose arguments do not all count alike: conditions, aggregates, windows."""

from headwater.capture.plan.branches import only_branch
from headwater.capture.plan.lineage import Column, Effect, Note, changed, merge
from headwater.capture.plan.nested import ELEMENT, decode
from headwater.capture.plan.reader import ExpressionRule, Reader, Scope
from headwater.capture.plan.tree import Node

_HASHES = (
    "Md5",
    "Sha1",
    "Sha2",
    "Crc32",
    "Murmur3Hash",
    "XxHash64",
    "HiveHash",
    "CollationAwareMurmur3Hash",
    "CollationAwareXxHash64",
    "Mask",
    "AesEncrypt",
    "TryAesEncrypt",
)
# Aggregates that take one row's struct as it is, so that its fields stay apart.
_ROW_KEEPING = frozenset({"First", "Last", "AnyValue"})
_LISTING = frozenset({"CollectList", "CollectSet"})
# The pipeline's own functions over Protobuf: what they do to fields is known.
_DECODER, _ENCODER = "headwater_from_protobuf", "headwater_to_protobuf"
_USER_FUNCTIONS = (
    "PythonUDF",
    "PythonUDAF",
    "ScalaUDF",
    "ScalaUDAF",
    "ScalaAggregator",
    "HiveSimpleUDF",
    "HiveGenericUDF",
    "HiveUDAFFunction",
    "HiveGenericUDTF",
    "ApplyFunctionExpression",
    "V2Aggregator",
    "PythonUDTF",
    "UnresolvedPolymorphicPythonUDTF",
)


def _choose(conditions: list[Column], values: list[Column]) -> Column:
    """One of `values`, picked by `conditions`.

    A condition on the payload that its own branches decode is a wire format's header at
    work (which schema wrote this record), and tells nothing about the record's fields.
    """
    chosen = merge(value.converted() if _shaped(value) else value.through(_T) for value in values)
    deciding = changed(merge(c.through(_T) for c in conditions).flat(), Effect.CONDITIONAL)
    if _shaped(chosen):
        decoded_from = {edge.origin.source for edge in chosen.flat()}
        deciding = frozenset(
            e for e in deciding if not (e.origin.payload and e.origin.source in decoded_from)
        )
    return chosen.with_edges(deciding)


def _case(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    only = only_branch(node)
    if only is not None:
        return inputs[only]
    pairs = len(inputs) // 2 * 2
    values = [
        column
        for position, column in enumerate(inputs)
        if (position >= pairs or position % 2) and not _raises(node.children[position])
    ]
    return _choose(list(inputs[:pairs:2]), values)


def _if(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    only = only_branch(node)
    if only is not None:
        return inputs[only]
    values = [c for c, e in zip(inputs[1:], node.children[1:], strict=True) if not _raises(e)]
    return _choose([inputs[0]], values)


def _coalesce(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    values = [c for c, e in zip(inputs, node.children, strict=True) if not _raises(e)]
    return _choose([], values)


def _aggregate(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    function = node.children[0]
    if function.type_name in _ROW_KEEPING | _LISTING and inputs[0].fields:
        value = inputs[0].apply(Effect.AGGREGATION)
    else:
        value = inputs[0].through(Effect.AGGREGATION)
    chosen = merge(column.through(_T) for column in inputs[1:])
    return value.with_edges(changed(chosen.flat(), Effect.FILTER))


def _row_keeping(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    return inputs[0]


def _listing(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    return inputs[0] if inputs[0].decoded else Column(fields={ELEMENT: inputs[0].converted()})


def _pivot_first(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    pivot, value = inputs
    return value.through(_T).with_edges(changed(pivot.flat(), Effect.CONDITIONAL))


def _window(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    function, spec = inputs
    return function.through(_T).with_edges(changed(spec.flat(), Effect.WINDOW))


def _rank(_: Reader, _node: Node, _inputs: tuple[Column, ...], _scope: Scope) -> Column:
    """A position among ordered rows: the ordering is the window's, and counts there."""
    return Column()


def _time_window(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    """A window's start or end: the conditions in Spark's formula for it are only rounding."""
    edges = inputs[0].through(_T).edges
    return Column(frozenset(e for e in edges if e.effect.direct), notes=inputs[0].notes)


def _hash(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    return merge(column.through(_T, masking=True) for column in inputs)


def _user_function(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    name = node.get("name") or node.get("udfName") or node.type_name
    if name == _DECODER:
        return decode(inputs[0], node.get("dataType"))
    if name == _ENCODER:
        return inputs[0]
    column = merge(c.through(_T) for c in inputs)
    return column.with_note(Note("opaque", f"{node.type_name} {name}"))


def _raises(node: Node) -> bool:
    while node.type_name in ("Cast", "Alias") and node.children:
        node = node.children[0]
    return node.type_name == "RaiseError"


def _shaped(column: Column) -> bool:
    return bool(column.fields) or column.decoded


_T = Effect.TRANSFORMATION

RULES: dict[str, ExpressionRule] = {
    "CaseWhen": _case,
    "If": _if,
    "Coalesce": _coalesce,
    "AggregateExpression": _aggregate,
    "PivotFirst": _pivot_first,
    "WindowExpression": _window,
    "PreciseTimestampConversion": _time_window,
    **dict.fromkeys(("Rank", "DenseRank", "PercentRank"), _rank),
    **dict.fromkeys(_ROW_KEEPING, _row_keeping),
    **dict.fromkeys(_LISTING, _listing),
    **dict.fromkeys(_HASHES, _hash),
    **dict.fromkeys(_USER_FUNCTIONS, _user_function),
}
