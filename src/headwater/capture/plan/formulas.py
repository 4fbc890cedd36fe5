"""The text of expressions, over the names of source columns: `sum(price * qty)`.

A formula is printed from the formulas of an expression's arguments. What an operator prints is
in parentheses, which `bare` takes off where they are not needed. Formulas are cut at a length,
so that no depth of a plan makes one long. Literals in the arguments of hashes and ciphers are
not shown: they may be salts and keys.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from headwater.capture.plan.tree import Node

LONGEST = 240  # characters of a formula
_LONGEST_LITERAL = 60
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_QUOTES = "'"
_PLAIN = frozenset({"byte", "short", "integer", "long", "float", "double"})
_TYPES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_INFIX = {
    "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "IntegralDivide": "div",
    "Remainder": "%", "And": "AND", "Or": "OR", "EqualTo": "=", "EqualNullSafe": "<=>",
    "GreaterThan": ">", "GreaterThanOrEqual": ">=", "LessThan": "<", "LessThanOrEqual": "<=",
    "Like": "LIKE", "RLike": "RLIKE", "BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^",
    "TimeAdd": "+", "TimestampAddInterval": "+", "DateAddInterval": "+",
}  # fmt: skip
# Functions whose names are not those of their classes.
_NAMES = {
    "Average": "avg", "CreateArray": "array", "CreateMap": "map", "CreateNamedStruct": "struct",
    "DateDiff": "datediff", "DateFormatClass": "date_format", "HyperLogLogPlusPlus":
    "approx_count_distinct", "JsonToStructs": "from_json", "StructsToJson": "to_json",
    "AvroDataToCatalyst": "from_avro", "CatalystDataToAvro": "to_avro",
    "ParseToDate": "to_date", "ParseToTimestamp": "to_timestamp", "RegExpExtract":
    "regexp_extract", "RegExpReplace": "regexp_replace", "StringSplit": "split",
    "StringTrim": "trim", "StringTrimLeft": "ltrim", "StringTrimRight": "rtrim",
    "TruncDate": "trunc", "TruncTimestamp": "date_trunc", "UnaryMinus": "-",
    "NullIf": "nullif", "NullIfZero": "nullifzero", "ZeroIfNull": "zeroifnull",
    "TypeOf": "typeof", "RegExpCount": "regexp_count", "RegExpSubStr": "regexp_substr",
    "ConcatWs": "concat_ws", "XxHash64": "xxhash64", "Murmur3Hash": "hash",
}  # fmt: skip
_SECRETIVE = frozenset(
    {
        "AesEncrypt", "TryAesEncrypt", "AesDecrypt", "TryAesDecrypt", "Md5", "Sha1", "Sha2",
        "Mask", "XxHash64", "Murmur3Hash",
    }
)  # fmt: skip
# What stands for its one argument, or was named by the rule that read it.
SAME = frozenset(
    {
        "Alias", "AttributeReference", "OuterReference", "KnownNotNull", "KnownNullable",
        "KnownFloatingPointNormalized", "NormalizeNaNAndZero", "TempResolvedColumn",
        "AssertNotNull", "PromotePrecision", "CheckOverflow", "ToPrettyString",
        "NamedLambdaVariable", "CommonExpressionDef", "CommonExpressionRef", "With",
        "VariableReference", "ArrayTransform", "ArrayFilter",
    }
)  # fmt: skip

# Fields of structs, where the rule that read them knows of none.
FIELDS = frozenset({"GetStructField", "GetArrayStructFields"})
# Keys of JSON, which are fields of the record that it holds.
PATHS = frozenset({"GetJsonObject", "VariantGet"})


def field_name(node: Node) -> str:
    """The name of the field that an expression takes out of a struct."""
    field = node.get("field")
    return str(node.get("name") or (field.get("name") if isinstance(field, dict) else "?"))


def formula(node: Node, arguments: Sequence[str], origins: Sequence[str]) -> str:
    """The text of an expression from those of its arguments; `origins` are its direct inputs."""
    kind = node.type_name
    operator = _INFIX.get(kind)
    if operator is not None and len(arguments) == 2:
        return short(f"({arguments[0]} {operator} {arguments[1]})")
    if kind == "PreciseTimestampConversion":  # of a window's start or end: rounding, in long
        return f"window({', '.join(sorted(origins))})"
    writer = _WRITERS.get(kind)
    if writer is not None:
        return short(writer(node, arguments))
    text = f"{_name(node)}({', '.join(map(bare, arguments))})"
    return short(_QUOTED.sub("'***'", text) if kind in _SECRETIVE else text)


def either(texts: Sequence[str]) -> str:
    """The text of a value that is one of several."""
    distinct = dict.fromkeys(bare(text) for text in texts if text)
    return short(" | ".join(distinct))


def bare(text: str) -> str:
    """A formula without the parentheses around all of it."""
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def short(text: str) -> str:
    """A text, cut where it is too long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _name(node: Node) -> str:
    given = node.get("name") or node.get("udfName")
    if isinstance(given, str) and "UD" in node.type_name:
        return given
    return _NAMES.get(node.type_name) or _HUMP.sub("_", node.type_name).lower()


def _literal(node: Node, _: Sequence[str]) -> str:
    value, kind = node.get("value"), node.get("dataType")
    if value is None:
        return "NULL"
    text = str(value)
    if kind in ("date", "timestamp", "timestamp_ntz"):
        return f"{kind.partition('_')[0].upper()} '{text}'"
    if kind != "string":
        return text[:_LONGEST_LITERAL]
    cut = text if len(text) <= _LONGEST_LITERAL else f"{text[: _LONGEST_LITERAL - 1]}…"
    quoted = cut.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"


def _cast(node: Node, arguments: Sequence[str]) -> str:
    """A cast as SQL; those between plain numbers or to bytes are mostly Spark's own: left out."""
    target, source = node.get("dataType"), node.children[0].get("dataType")
    if not isinstance(target, str) or target in (source, "binary"):
        return arguments[0]
    if target in _PLAIN and (source is None or source in _PLAIN):
        return arguments[0]
    if target.startswith("decimal") and str(source).startswith("decimal"):
        return arguments[0]
    return f"cast({bare(arguments[0])} AS {_TYPES.get(target, target)})"


def _case(_: Node, arguments: Sequence[str]) -> str:
    pairs = len(arguments) // 2 * 2
    whens = [f"WHEN {bare(arguments[n])} THEN {bare(arguments[n + 1])}" for n in range(0, pairs, 2)]
    rest = [f"ELSE {bare(text)}" for text in arguments[pairs:]]
    return " ".join(["CASE", *whens, *rest, "END"])


def _struct(_: Node, arguments: Sequence[str]) -> str:
    return f"struct({', '.join(map(bare, arguments[1::2]))})"


def _aggregate(node: Node, arguments: Sequence[str]) -> str:
    text = arguments[0]
    if node.get("isDistinct") is True:
        text = text.replace("(", "(DISTINCT ", 1)
    return text if len(arguments) < 2 else f"{text} FILTER (WHERE {bare(arguments[1])})"


def _count(_: Node, arguments: Sequence[str]) -> str:
    return "count(*)" if [*arguments] == ["1"] else f"count({', '.join(map(bare, arguments))})"


def _window(_: Node, arguments: Sequence[str]) -> str:
    return f"{arguments[0]} OVER ({arguments[1]})"


def _window_spec(node: Node, arguments: Sequence[str]) -> str:
    """The children of a window are its partitions, its order and its frame."""
    parts = [(child.type_name, text) for child, text in zip(node.children, arguments, strict=True)]
    order = [bare(text) for kind, text in parts if kind == "SortOrder"]
    by = [bare(t) for kind, t in parts if kind not in ("SortOrder", *_FRAMES)]
    words = [f"PARTITION BY {', '.join(by)}"] if by else []
    words += [f"ORDER BY {', '.join(order)}"] if order else []
    return " ".join(words)


_FRAMES = ("SpecifiedWindowFrame", "UnspecifiedFrame")


def _sort_order(node: Node, arguments: Sequence[str]) -> str:
    direction: Any = node.get("direction")
    down = "Descending" in str(direction)
    return f"{bare(arguments[0])} DESC" if down else bare(arguments[0])


def _subquery(*_: Any) -> str:
    return "(SELECT …)"


_WRITERS: dict[str, Callable[[Node, Sequence[str]], str]] = {
    "Literal": _literal,
    "Cast": _cast,
    "AnsiCast": _cast,
    "UpCast": lambda _, texts: texts[0],
    "CaseWhen": _case,
    "CreateNamedStruct": _struct,
    "AggregateExpression": _aggregate,
    "Count": _count,
    "WindowExpression": _window,
    "WindowSpecDefinition": _window_spec,
    "SortOrder": _sort_order,
    "Not": lambda _, texts: f"(NOT {texts[0]})",
    "IsNull": lambda _, texts: f"({texts[0]} IS NULL)",
    "IsNotNull": lambda _, texts: f"({texts[0]} IS NOT NULL)",
    "In": lambda _, texts: f"({texts[0]} IN ({', '.join(texts[1:])}))",
    "Between": lambda _, texts: f"({texts[0]} BETWEEN {texts[1]} AND {texts[2]})",
    "Extract": lambda _, texts: f"extract({bare(texts[0]).strip(_QUOTES)} FROM {bare(texts[1])})",
    "GetArrayItem": lambda _, texts: f"{texts[0]}[{bare(texts[1])}]",
    "GetMapValue": lambda _, texts: f"{texts[0]}[{bare(texts[1])}]",
    "UnaryMinus": lambda _, texts: f"-{texts[0]}",
    "LambdaFunction": lambda _, texts: bare(texts[0]),
    "ScalarSubquery": _subquery,
    "LateralSubquery": _subquery,
    "ListQuery": _subquery,
    "Exists": _subquery,
    "InSubquery": lambda _, texts: f"({texts[0]} IN (SELECT …))" if texts else "(SELECT …)",
}
