"""Schemas of topics, from a schema registry that speaks Confluent's API."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx

from headwater.capture.datasets import descriptors
from headwater.capture.plan.nested import MOST_INSIDE
from headwater.capture.plan.sources import Field

_TIMEOUT = 3.0
_AVRO_TYPES = {"int": "integer"}
_MESSAGE = re.compile(r"\bmessage\s+(?P<name>\w+)\s*\{")
_PROTO_FIELD = re.compile(
    r"^\s*(?:optional\s+|required\s+)?(?P<many>repeated\s+)?"
    r"(?P<type>map\s*<[^>]+>|[\w.]+)\s+(?P<name>\w+)\s*=\s*\d+",
    re.MULTILINE,
)


_MAP = re.compile(r"map\s*<\s*(?P<key>\w+)\s*,\s*(?P<value>[\w.]+)\s*>")


class Registry:
    """Reads the newest schemas of topics; a topic that has none, or an error, gives nothing."""

    def __init__(self, url: str, auth: str | None = None) -> None:
        user, _, password = (auth or "").partition(":")
        self._client = httpx.Client(
            base_url=url.rstrip("/"),
            timeout=_TIMEOUT,
            auth=httpx.BasicAuth(user, password) if auth else None,
        )

    def fields(
        self, topic: str, wanted: frozenset[str] = frozenset({"key", "value"})
    ) -> tuple[Field, ...]:
        """The fields of a topic's records: the value's by name, the key's under `key.`"""
        value = self._subject(f"{topic}-value") if "value" in wanted else ()
        key = self._subject(f"{topic}-key") if "key" in wanted else ()
        return (*(Field(f"key.{field.name}", field.type) for field in key), *value)

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()

    def _subject(self, subject: str) -> tuple[Field, ...]:
        try:
            answer = self._client.get(f"/subjects/{subject}/versions/latest")
        except httpx.HTTPError:
            return ()
        if answer.status_code != httpx.codes.OK:
            return ()
        found = answer.json()
        return parse(str(found["schema"]), str(found.get("schemaType") or "AVRO"))


def parse(schema: str, kind: str) -> tuple[Field, ...]:
    """The fields of a schema with what is nested in them; one that is no record has none."""
    if kind == "PROTOBUF":
        return _protobuf(schema)
    try:
        tree = json.loads(schema)
    except ValueError:
        return ()
    return _json_schema(tree) if kind == "JSON" else _avro(tree)


def _avro(tree: Any) -> tuple[Field, ...]:
    if not isinstance(tree, dict) or tree.get("type") != "record":
        return ()
    return tuple(Field(str(f["name"]), _avro_type(f["type"])) for f in tree["fields"])


def _avro_type(tree: Any) -> Any:
    if isinstance(tree, list):
        kinds = [_avro_type(t) for t in tree if t != "null"]
        return kinds[0] if len(kinds) == 1 else "union"
    if not isinstance(tree, dict):
        return _AVRO_TYPES.get(str(tree), str(tree))
    if tree.get("type") == "record":
        inner = [{"name": f["name"], "type": _avro_type(f["type"])} for f in tree["fields"]]
        return {"type": "struct", "fields": inner}
    if tree.get("type") == "array":
        return {"type": "array", "elementType": _avro_type(tree["items"])}
    if tree.get("type") == "map":
        return {"type": "map", "keyType": "string", "valueType": _avro_type(tree["values"])}
    return str(tree.get("logicalType") or _avro_type(tree["type"]))


def _json_schema(tree: Any) -> tuple[Field, ...]:
    if not isinstance(tree, dict):
        return ()
    return tuple(
        Field(str(name), _json_type(kind)) for name, kind in (tree.get("properties") or {}).items()
    )


def _json_type(tree: Any) -> Any:
    kind = tree.get("type") if isinstance(tree, dict) else None
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), None)
    if kind == "object" and tree.get("properties"):
        inner = [{"name": n, "type": _json_type(t)} for n, t in tree["properties"].items()]
        return {"type": "struct", "fields": inner}
    if kind == "object" and isinstance(tree.get("additionalProperties"), dict):
        values = _json_type(tree["additionalProperties"])
        return {"type": "map", "keyType": "string", "valueType": values}
    if kind == "array":
        return {"type": "array", "elementType": _json_type(tree.get("items"))}
    return kind


def _protobuf(text: str) -> tuple[Field, ...]:
    """The fields of the message that records are: the first that no other one holds."""
    messages = descriptors.messages(text)
    if messages is None:
        messages = dict(_messages(re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)))
    held = {
        _short(field.type)
        for name, fields in messages.items()
        for field in fields
        if _short(field.type) != name
    }
    roots = [fields for name, fields in messages.items() if name not in held]
    record = next(iter([*roots, *messages.values()]), ())
    types = _ProtoTypes(messages)
    return tuple(Field(one.name, types.spell(one.type, ())) for one in record)


class _ProtoTypes:
    """Spells types out with the fields of the messages in them, until these are too many."""

    def __init__(self, messages: dict[str, tuple[Field, ...]]) -> None:
        self._messages, self._left = messages, MOST_INSIDE

    def spell(self, kind: Any, around: tuple[str, ...]) -> Any:
        """A type; a message inside itself stays a name."""
        if isinstance(kind, dict):
            inner = self.spell(kind["elementType"], around)
            if _is_entry(kind["elementType"], inner):  # how descriptors write maps
                key, value = inner["fields"]
                return {"type": "map", "keyType": key["type"], "valueType": value["type"]}
            return {"type": "array", "elementType": inner}
        if found := _MAP.fullmatch(str(kind)):
            value = self.spell(found["value"], around)
            return {"type": "map", "keyType": found["key"], "valueType": value}
        name = _short(kind)
        fields = self._messages.get(name, ())
        if not fields or name in around or len(fields) > self._left:
            return kind
        self._left -= len(fields)
        inside = (*around, name)
        listed = [{"name": one.name, "type": self.spell(one.type, inside)} for one in fields]
        return {"type": "struct", "fields": listed}


def _is_entry(kind: Any, inner: Any) -> bool:
    names = [field["name"] for field in inner["fields"]] if isinstance(inner, dict) else []
    return str(kind).endswith("Entry") and names == ["key", "value"]


def _short(kind: Any) -> str:
    kind = kind["elementType"] if isinstance(kind, dict) else kind
    return str(kind).rpartition(".")[2]


def _messages(text: str) -> Iterator[tuple[str, tuple[Field, ...]]]:
    """The messages of a schema's text, each before those that it declares inside it."""
    at = 0
    while found := _MESSAGE.search(text, at):
        body, depth, at = list[str](), 1, found.end()
        while depth and at < len(text):
            character = text[at]
            depth += {"{": 1, "}": -1}.get(character, 0)
            if depth == 1:
                body.append("\n" if character in ";}" else character)
            at += 1
        yield found["name"], _text_fields("".join(body))
        yield from _messages(text[found.end() : at - 1])


def _text_fields(body: str) -> tuple[Field, ...]:
    return tuple(
        Field(
            match["name"],
            {"type": "array", "elementType": match["type"]} if match["many"] else match["type"],
        )
        for match in _PROTO_FIELD.finditer(body)
    )
