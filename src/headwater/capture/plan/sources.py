"""Pass one of plan reading: the leaves of a plan, and the fields that each brings in."""

from typing import Any

from msgspec import Struct

from headwater.capture.plan.lineage import Column, Edge, Effect, Origin, Relation
from headwater.capture.plan.nested import opened
from headwater.capture.plan.tree import Node

# Rows that are made up by the plan itself; they come from no dataset.
MADE_UP = frozenset({"LocalRelation", "Range", "OneRowRelation", "EmptyRelation", "CommandResult"})
READS = frozenset(
    {
        "LogicalRelation",
        "LogicalRelationWithTable",
        "DataSourceV2Relation",
        "DataSourceV2ScanRelation",
        "HiveTableRelation",
        "StreamingRelation",
        "StreamingRelationV2",
        "StreamingExecutionRelation",
        "StreamingDataSourceV2Relation",
        "StreamingDataSourceV2ScanRelation",
        "UnresolvedCatalogRelation",
    }
)
_MADE_UP_STREAMS = frozenset({"rate", "rate-micro-batch", "memory", "socket"})
_KAFKA = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")


class Field(Struct, frozen=True):
    """One column of a source, with Catalyst's JSON for its type."""

    name: str
    type: Any


class Source(Struct, frozen=True):
    """A leaf that reads a dataset; `ids` find the same leaf again in the JVM."""

    kind: str
    ids: tuple[int, ...]
    fields: tuple[Field, ...]
    table: str | None = None
    format: str | None = None
    streaming: bool = False

    @property
    def is_topic(self) -> bool:
        """Whether these are Kafka's own columns, whose key and value hold encoded records."""
        return tuple(field.name for field in self.fields[: len(_KAFKA)]) == _KAFKA


def source_of(node: Node) -> Source:
    """The source that a leaf describes."""
    output = outputs(node)
    return Source(
        kind=node.type_name,
        ids=tuple(expr_id(attribute) for attribute in output),
        fields=tuple(Field(str(a.get("name")), a.get("dataType")) for a in output),
        table=_table_name(node),
        format=node.get("sourceName"),
        streaming=node.type_name.startswith("Streaming") or node.get("isStreaming") is True,
    )


def is_made_up(node: Node) -> bool:
    """Whether a leaf's rows come from no dataset."""
    return node.type_name in MADE_UP or node.get("sourceName") in _MADE_UP_STREAMS


def relation_of(source: Source, index: int) -> Relation:
    """What a source puts out: every field is its own origin."""
    payloads = ("key", "value") if source.is_topic else ()
    columns = tuple(
        (
            field_id,
            field.name,
            opened(
                frozenset({Edge(_origin(index, field, payloads), Effect.IDENTITY)}), field.type
            ).with_formula(field.name),
        )
        for field_id, field in zip(source.ids, source.fields, strict=True)
    )
    return Relation(columns, streaming=source.streaming)


def made_up(node: Node) -> Relation:
    """What a leaf without a dataset puts out: columns that come from nowhere."""
    output = rows_of(node)
    return Relation(
        tuple((expr_id(a), str(a.get("name")), Column(formula=str(a.get("name")))) for a in output)
    )


def outputs(node: Node) -> tuple[Node, ...]:
    """The attributes of a leaf; a table of Hive has those of its data and of its folders apart."""
    return node.trees("output") or (*node.trees("dataCols"), *node.trees("partitionCols"))


def rows_of(node: Node) -> tuple[Node, ...]:
    """The attributes of a leaf that holds rows; objects of an RDD are one."""
    return node.trees("output") or node.trees("outputObjAttr")


def expr_id(node: Node) -> int:
    """Catalyst's id of a named expression."""
    return int((node.get("exprId") or {"id": -1})["id"])


def _origin(index: int, field: Field, payloads: tuple[str, ...]) -> Origin:
    return Origin(index, field.name, field.name in payloads)


def _table_name(node: Node) -> str | None:
    identifier = (node.get("catalogTable") or node.get("tableMeta") or {}).get("identifier")
    if isinstance(identifier, dict):
        parts = (identifier.get("database"), identifier.get("table"))
        return ".".join(part for part in parts if part)
    if isinstance(identifier, str):
        return identifier
    return None
