"""Rules for expressions that name, build and take apart values: references, structs, payloads."""

import re

from headwater.capture.plan.lineage import Column, Effect, Note, merge
from headwater.capture.plan.nested import (
    ELEMENT,
    KEY,
    VALUE,
    decode,
    inside_edges,
    named,
    parts,
    recast,
)
from headwater.capture.plan.reader import ExpressionRule, Reader, Scope
from headwater.capture.plan.sources import expr_id
from headwater.capture.plan.tree import Node

_STEP = re.compile(r"(?:\.|\[['\"])([^.\[\]'\"*]+)(?:['\"]\])?|\[(?:[0-9]+|\*)\]")


def literal(node: Node) -> str | None:
    """The text of a literal, under any casts."""
    while node.type_name in ("Cast", "Alias") and node.children:
        node = node.children[0]
    value = node.get("value")
    return str(value) if node.type_name == "Literal" and value is not None else None


def path_keys(path: str | None) -> tuple[list[str], bool]:
    """The keys of a JSON path, its places in arrays as elements, and whether these are all."""
    keys, at = list[str](), 1
    while path and path[0] == "$" and (step := _STEP.match(path, at)):
        keys.append(step.group(1) or ELEMENT)
        at = step.end()
    return keys, at == len(path or "")


def _attribute(_: Reader, node: Node, _inputs: tuple[Column, ...], scope: Scope) -> Column:
    found = scope.find(expr_id(node))
    if found is None:
        return scope.everything().with_note(Note("unknown", f"reference to {node.get('name')}"))
    return named(found, node.get("dataType"))


def _literal(_reader: Reader, node: Node, _inputs: tuple[Column, ...], _scope: Scope) -> Column:
    text = literal(node) if node.get("dataType") == "string" else None
    return Column() if text is None else Column(texts=frozenset({text}))


def _outer(reader: Reader, node: Node, _inputs: tuple[Column, ...], scope: Scope) -> Column:
    inner = node.tree("e")
    return reader.column(inner, scope) if inner is not None else Column()


def _same(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    return inputs[0] if inputs else Column()


def _cast(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    column = inputs[0]
    if node.get("dataType") == node.children[0].get("dataType"):
        return column
    if column.fields:
        return recast(column, node.get("dataType"))
    return column.apply(Effect.TRANSFORMATION)


def _keep_one_shape(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    """A wire format around one record, as in `concat(header, to_avro(…))`."""
    shaped = [column for column in inputs if column.fields or column.decoded]
    if len(shaped) != 1:
        return merge(column.through(Effect.TRANSFORMATION) for column in inputs)
    rest = merge(c.through(Effect.TRANSFORMATION) for c in inputs if c is not shaped[0])
    return shaped[0].converted().with_edges(rest.flat())


def _named_struct(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    names = [literal(child) for child in node.children[::2]]
    if any(name is None for name in names):
        return merge(column.through(Effect.TRANSFORMATION) for column in inputs)
    return Column(fields=dict(zip(map(str, names), inputs[1::2], strict=True)))


def _struct_field(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    column = inputs[0]
    name = node.get("name")
    if name is None:
        ordinal = int(node.get("ordinal") or 0)
        types = parts(node.children[0].get("dataType"))
        names = [name for name, _ in types] or list(column.fields or ())
        name = names[ordinal] if ordinal < len(names) else None
    return column.field(name) if name is not None else column.through(Effect.TRANSFORMATION)


def _array_struct_field(_: Reader, node: Node, inputs: tuple[Column, ...], _s: Scope) -> Column:
    """A field of each struct of an array."""
    field, column = node.get("field"), inputs[0]
    name = field.get("name") if isinstance(field, dict) else None
    if name is None or not (column.fields or column.decoded):
        return column.through(Effect.TRANSFORMATION)
    if column.decoded:
        return column.field(name)
    value = column.field(ELEMENT).field(name)
    return Column(fields={ELEMENT: value}, notes=column.notes)


def _element(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    """An element of an array or a value of a map; a key of a decoded map is a field."""
    column, key = inputs[0], inputs[1].through(Effect.TRANSFORMATION)
    name = literal(node.children[1])
    if column.decoded:
        return column.field(name) if name is not None and not name.isdigit() else column
    return element_of(column).with_edges(key.edges)


def element_of(column: Column) -> Column:
    """An element of an array, or the value of a map that its keys decide on."""
    if not column.fields:
        return column.through(Effect.TRANSFORMATION)
    if VALUE not in column.fields:
        return column.field(ELEMENT)
    keys = column.field(KEY).through(Effect.CONDITIONAL)
    return column.field(VALUE).with_edges(keys.edges)


def _array(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    return Column(fields={ELEMENT: merge(column.apply(Effect.TRANSFORMATION) for column in inputs)})


def _map(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    changed = [column.apply(Effect.TRANSFORMATION) for column in inputs]
    return Column(fields={KEY: merge(changed[::2]), VALUE: merge(changed[1::2])})


def _part_of_map(part: str) -> ExpressionRule:
    """The keys, or the values, of a map as an array."""

    def rule(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
        if part not in (inputs[0].fields or ()):
            return inputs[0].through(Effect.TRANSFORMATION)
        return Column(fields={ELEMENT: inputs[0].field(part)})

    return rule


def _update_fields(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    """`withField` and `dropFields`: other fields stay what they were."""
    base = inputs[0]
    if base.fields is None:
        return merge(column.through(Effect.TRANSFORMATION) for column in inputs)
    fields = dict(base.fields)
    for operation, value in zip(node.children[1:], inputs[1:], strict=True):
        name = str(operation.get("name"))
        if operation.type_name == "DropField":
            fields.pop(name, None)
        else:
            fields[name] = value
    return Column(base.edges, fields, base.notes)


def _decoder(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    return decode(inputs[0], node.get("schema") or node.get("nullableSchema"))


def _json_path(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    """A value inside a record of JSON; arrays around the record itself are passed over."""
    keys, is_all = path_keys(literal(node.children[1]))
    while keys and keys[0] == ELEMENT:
        keys = keys[1:]
    if not keys:
        return merge(column.through(Effect.TRANSFORMATION) for column in inputs)
    record = decode(inputs[0], None)
    field = record.field(keys[0])
    inner = _within(field, keys[1:])
    if record.decoded:
        inner = Column(inside_edges(field.edges, keys[1:]), notes=field.notes)
    if not is_all:
        return inner.through(Effect.TRANSFORMATION)
    return inner.with_formula(_dotted(keys)) if record.decoded else inner


def _dotted(keys: list[str]) -> str:
    return ".".join(key for key in keys if key != ELEMENT)


def _within(column: Column, keys: list[str]) -> Column:
    for key in keys:
        column = column.field(key)
    return column


RULES: dict[str, ExpressionRule] = {
    "AttributeReference": _attribute,
    "OuterReference": _outer,
    "Alias": _same,
    "Literal": _literal,
    "Cast": _cast,
    "AnsiCast": _cast,
    "UpCast": _cast,
    "TryCast": _cast,
    "CreateNamedStruct": _named_struct,
    "GetStructField": _struct_field,
    "GetArrayStructFields": _array_struct_field,
    "GetArrayItem": _element,
    "ElementAt": _element,
    "GetMapValue": _element,
    "CreateArray": _array,
    "CreateMap": _map,
    "MapKeys": _part_of_map(KEY),
    "MapValues": _part_of_map(VALUE),
    "UpdateFields": _update_fields,
    "WithField": _same,
    "JsonToStructs": _decoder,
    "AvroDataToCatalyst": _decoder,
    "FromAvro": _decoder,
    "FromProtobuf": _decoder,
    "ProtobufDataToCatalyst": _decoder,
    "CsvToStructs": _decoder,
    "XmlToStructs": _decoder,
    "ParseJson": _decoder,
    "GetJsonObject": _json_path,
    "VariantGet": _json_path,
    "Concat": _keep_one_shape,
    **dict.fromkeys(
        # Encoders keep the record's fields; a wire format's header does not change them.
        (
            "StructsToJson",
            "StructsToCsv",
            "StructsToXml",
            "CatalystDataToAvro",
            "CatalystDataToProtobuf",
            "ToVariantObject",
            "Base64",
            "UnBase64",
            "Encode",
            "StringDecode",
            "AssertNotNull",
            "KnownNotNull",
            "KnownNullable",
            "KnownFloatingPointNormalized",
            "NormalizeNaNAndZero",
            "TempResolvedColumn",
            "LambdaFunction",
        ),
        _keep_one_shape,
    ),
    "Substring": _keep_one_shape,
    "ToAvro": _same,
    "ToProtobuf": _same,
}
