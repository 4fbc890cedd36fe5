"""Rules for expressions that name, build and take apart values: references, structs, payloads."""

import re
from typing import Any

from headwater.capture.plan.lineage import Column, Effect, Note, merge
from headwater.capture.plan.reader import ExpressionRule, Reader, Scope
from headwater.capture.plan.sources import expr_id
from headwater.capture.plan.tree import Node

_FIRST_KEY = re.compile(r"^\$(?:\[[0-9*]+\])*(?:\.|\[['\"])([^.\[\]'\"]+)")


def literal(node: Node) -> str | None:
    """The text of a literal, under any casts."""
    while node.type_name in ("Cast", "Alias") and node.children:
        node = node.children[0]
    value = node.get("value")
    return str(value) if node.type_name == "Literal" and value is not None else None


def struct_names(data_type: Any) -> list[str]:
    """The field names of a struct, or of an array's struct element, in Catalyst's JSON."""
    while isinstance(data_type, dict) and data_type.get("type") == "array":
        data_type = data_type.get("elementType")
    if isinstance(data_type, dict) and data_type.get("type") == "struct":
        return [str(field["name"]) for field in data_type["fields"]]
    return []


def path_key(path: str | None) -> str | None:
    """The first key of a JSON path: `$.order.id` gives `order`."""
    match = _FIRST_KEY.match(path or "")
    return match.group(1) if match else None


def decode(column: Column, names: list[str]) -> Column:
    """A payload read by from_avro, from_json and their like: its fields are the topic's."""
    if column.fields:
        return column
    return Column(column.edges, notes=column.notes, decoded=True).named(names)


def _attribute(_: Reader, node: Node, _inputs: tuple[Column, ...], scope: Scope) -> Column:
    found = scope.find(expr_id(node))
    if found is None:
        return scope.everything().with_note(Note("unknown", f"reference to {node.get('name')}"))
    return found.named(struct_names(node.get("dataType"))) if found.decoded else found


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
    names = struct_names(node.get("dataType"))
    if column.fields and names and len(names) == len(column.fields):
        fields = dict(zip(names, column.fields.values(), strict=True))
        return Column(column.edges, fields, column.notes)
    return column.apply(Effect.TRANSFORMATION) if not column.fields else column


def _keep_one_shape(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    """A wire format around one record, as in `concat(header, to_avro(…))`."""
    shaped = [column for column in inputs if column.fields or column.decoded]
    if len(shaped) != 1:
        return merge(column.through(Effect.TRANSFORMATION) for column in inputs)
    rest = merge(c.through(Effect.TRANSFORMATION) for c in inputs if c is not shaped[0])
    return shaped[0].with_edges(rest.flat())


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
        names = struct_names(node.children[0].get("dataType")) or list(column.fields or ())
        name = names[ordinal] if ordinal < len(names) else None
    return column.field(name) if name is not None else column.through(Effect.TRANSFORMATION)


def _array_struct_field(_: Reader, node: Node, inputs: tuple[Column, ...], _s: Scope) -> Column:
    field = node.get("field")
    name = field.get("name") if isinstance(field, dict) else None
    return inputs[0].field(name) if name else inputs[0].through(Effect.TRANSFORMATION)


def _element(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    """An element of an array keeps its shape; a key of a decoded map is a field."""
    column, key = inputs[0], inputs[1].through(Effect.TRANSFORMATION)
    name = literal(node.children[1])
    if column.decoded and name is not None and not name.isdigit():
        return column.field(name)
    kept = column.apply(Effect.TRANSFORMATION) if not column.decoded else column
    return kept.with_edges(key.edges)


def _array(_: Reader, _node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    return merge(column.apply(Effect.TRANSFORMATION) for column in inputs)


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
    schema = node.get("schema") or node.get("nullableSchema")
    return decode(inputs[0], struct_names(schema))


def _json_path(_: Reader, node: Node, inputs: tuple[Column, ...], _scope: Scope) -> Column:
    path = literal(node.children[1])
    key = path_key(path)
    if path is None or key is None:
        return merge(column.through(Effect.TRANSFORMATION) for column in inputs)
    field = decode(inputs[0], []).field(key)
    deeper = not path.rstrip("]'\"").endswith(key)
    return field.through(Effect.TRANSFORMATION) if deeper else field


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
