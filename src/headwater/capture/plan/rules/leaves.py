"""Rules for the leaves of a plan: datasets, made-up rows, and a micro-batch handed over."""

from headwater.capture.plan.lineage import Note, Relation
from headwater.capture.plan.reader import Reader, RelationRule, Scope, noted
from headwater.capture.plan.sources import MADE_UP, READS, expr_id, is_made_up, made_up, rows_of
from headwater.capture.plan.tree import Node


def _read(
    reader: Reader, node: Node, _inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    return made_up(node) if is_made_up(node) else reader.source(node)


def _made_up(
    reader: Reader, node: Node, _inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    """Rows that the driver holds: those of a plan that were handed over, or constants."""
    return _handed(reader, node) or made_up(node)


def _rdd(
    reader: Reader, node: Node, _inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    """Rows from an RDD: those of a plan that were handed over, or unknown."""
    unknown = Note("unknown", f"rows of an RDD ({node.type_name})")
    return _handed(reader, node) or noted(made_up(node), unknown)


def _handed(reader: Reader, node: Node) -> Relation | None:
    return reader.adopt(tuple(expr_id(attribute) for attribute in rows_of(node)))


RULES: dict[str, RelationRule] = {
    **dict.fromkeys(READS, _read),
    **dict.fromkeys(MADE_UP, _made_up),
    "LogicalRDD": _rdd,
    "ExternalRDD": _rdd,
}
