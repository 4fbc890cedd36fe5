"""Rules for nodes that make many rows of one: explode, inline, stack, json_tuple, UDTFs."""

from headwater.capture.plan.lineage import Column, Effect, Note, Relation, merge
from headwater.capture.plan.nested import ELEMENT, KEY, VALUE, decode
from headwater.capture.plan.reader import Reader, RelationRule, Scope
from headwater.capture.plan.rules.references import literal
from headwater.capture.plan.sources import expr_id
from headwater.capture.plan.tree import Node

_KNOWN = frozenset(
    {
        "Explode",
        "PosExplode",
        "Inline",
        "Stack",
        "JsonTuple",
        "ReplicateRows",
        "SQLKeywords",
        "Collations",
        "VariantExplode",
    }
)
_USER = frozenset({"PythonUDTF", "HiveGenericUDTF", "UserDefinedGenerator"})


def _generate(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    child = inputs[0]
    scope = Scope.over(inputs, outer)
    generator = _unwrapped(node.tree("generator"))
    output = node.trees("generatorOutput")
    inputs_of = [reader.column(child, scope) for child in generator.children]
    values = _values(generator, inputs_of, [str(a.get("name")) for a in output])
    columns = tuple(
        (expr_id(attribute), str(attribute.get("name")), value)
        for attribute, value in zip(output, values, strict=False)
    )
    origins = frozenset(edge.origin for edge in _whole(inputs_of).flat())
    # json_tuple and stack give a fixed number of rows; everything else counts its input.
    counted = frozenset() if generator.type_name in ("JsonTuple", "Stack") else origins
    return Relation(
        child.columns + columns,
        child.rows,
        child.presence | counted,
        child.watermark,
        child.streaming,
    )


def _unwrapped(generator: Node | None) -> Node:
    while generator is not None and generator.type_name == "GeneratorOuter":
        generator = generator.children[0]
    return generator or Node({"class": "Nothing", "num-children": 0}, ())


def _values(generator: Node, inputs: list[Column], names: list[str]) -> list[Column]:
    kind = generator.type_name
    if kind == "JsonTuple":
        paths = [literal(child) for child in generator.children[1:]]
        record = decode(inputs[0], None)
        return [record.field(path) if path else _whole(inputs) for path in paths]
    if kind == "Inline":
        record = _part(inputs[0], ELEMENT)
        return [_field(record, position, name) for position, name in enumerate(names)]
    if kind in ("Explode", "PosExplode"):
        return [*[_whole(inputs)] * (kind == "PosExplode"), *_exploded(inputs[0])][: len(names)]
    if kind == "Stack":
        return _stack(generator, inputs, len(names))
    whole = _whole(inputs)
    if kind in _USER:
        whole = whole.with_note(Note("opaque", f"{kind} {generator.get('name')}"))
    elif kind not in _KNOWN:
        whole = whole.with_note(Note("unknown", kind))
    return [whole] * len(names)


def _exploded(column: Column) -> list[Column]:
    """The element of an array, or the key and the value of a map."""
    if KEY in (column.fields or ()):
        return [_part(column, KEY), _part(column, VALUE)]
    return [_part(column, ELEMENT)] * 2


def _part(column: Column, name: str) -> Column:
    if column.decoded:
        return column
    return column.field(name).with_formula(column.formula)


def _stack(generator: Node, inputs: list[Column], width: int) -> list[Column]:
    cells = inputs[1:]
    if literal(generator.children[0]) is None or not width:
        return [_whole(inputs)] * width
    return [merge(cells[position::width]) for position in range(width)]


def _field(record: Column, position: int, name: str) -> Column:
    if record.decoded:
        return record.field(name)
    if record.fields and position < len(record.fields):
        return record.field(list(record.fields)[position])
    return record.through(Effect.TRANSFORMATION)


def _whole(inputs: list[Column]) -> Column:
    return merge(column.through(Effect.TRANSFORMATION) for column in inputs)


RULES: dict[str, RelationRule] = {"Generate": _generate}
