"""The front of plan reading: the JSON of one analyzed plan in, its column lineage out."""

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

from headwater.capture.plan.formulas import short
from headwater.capture.plan.lineage import Column, Edge, Edges, Effect, Note, Origin, Relation
from headwater.capture.plan.reader import ExpressionRule, Handed, Ids, Reader, RelationRule
from headwater.capture.plan.rules import (
    basic,
    combining,
    functions,
    generators,
    lambdas,
    leaves,
    opaque,
    references,
    subqueries,
    writes,
)
from headwater.capture.plan.sources import Source
from headwater.capture.plan.tree import Node, parse

R = TypeVar("R")

# Later tables win, so a family may refine what a more general one says.
EXPRESSION_RULES: tuple[Mapping[str, ExpressionRule], ...] = (
    references.RULES,
    functions.RULES,
    lambdas.RULES,
    subqueries.EXPRESSIONS,
)
RELATION_RULES: tuple[Mapping[str, RelationRule], ...] = (
    leaves.RULES,
    basic.RULES,
    combining.RULES,
    generators.RULES,
    opaque.RULES,
    subqueries.RELATIONS,
    writes.RULES,
)


class PlanLineage(Struct, frozen=True):
    """The sources of one plan and, for each column it puts out, where that comes from."""

    sources: tuple[Source, ...]
    relation: Relation
    write: str | None = None
    row_notes: frozenset[Note] = frozenset()
    adopted: frozenset[Ids] = frozenset()
    conditions: Mapping[Edge, str] = {}

    @property
    def ids(self) -> Ids:
        """The ids of the output, which find it again in a plan that reads it."""
        return tuple(i for i, _, _ in self.relation.columns)

    @property
    def columns(self) -> tuple[tuple[str, Column], ...]:
        """The columns in order, by name."""
        return tuple((name, column) for _, name, column in self.relation.columns)

    def texts(self, name: str) -> tuple[str, ...]:
        """The constants that a column may be, as far as the query writes them out."""
        found = (column.texts for one, column in self.columns if one == name)
        return tuple(sorted(frozenset[str]().union(*found)))

    def inputs(self, column: Column) -> Edges:
        """Everything that one output column depends on."""
        edges = column.flat() | self.relation.rows
        direct: dict[tuple[int, str], list[Origin]] = {}
        for edge in edges:
            if edge.effect.direct:
                direct.setdefault((edge.origin.source, edge.origin.field), []).append(edge.origin)
        hidden = [
            origin
            for origin in self.relation.presence
            for used in [direct.get((origin.source, origin.field), ())]
            if not any(origin.holds(one) or one.holds(origin) for one in used)
        ]
        return edges | {Edge(origin, Effect.FILTER) for origin in hidden}

    def whole(self) -> Edges:
        """What every column depends on alike, because it decides about rows."""
        return self.relation.rows

    def notes(self) -> Mapping[Note, tuple[str, ...]]:
        """What could not be seen into, with the output columns it concerns; `*` is all rows."""
        found: dict[Note, list[str]] = {note: ["*"] for note in self.row_notes}
        for name, column in self.columns:
            for note in column.all_notes():
                found.setdefault(note, []).append(name)
        return {note: tuple(found[note]) for note in sorted(found)}


def analyze(plan: str | Node, handed: "Mapping[Ids, PlanLineage] | None" = None) -> PlanLineage:
    """The column lineage of an analyzed plan, as `toJSON()` wrote it.

    `handed` are plans whose rows other plans read, such as a streaming query that hands its
    micro-batches to a function, by the ids of their output: a plan that reads such rows goes
    on from there.
    """
    root = parse(plan) if isinstance(plan, str) else plan
    lazy = subqueries.LAZY | lambdas.LAZY | writes.LAZY
    reader = Reader(_table(RELATION_RULES), _table(EXPRESSION_RULES), lazy)
    for ids, one in (handed or {}).items():
        notes, conditions = one.row_notes, one.conditions
        reader.handed[ids] = Handed(one.sources, one.relation, notes, conditions)
    relation = reader.relation(root)
    return PlanLineage(
        tuple(reader.sources),
        relation,
        writes.kind_of(root),
        reader.row_notes,
        frozenset(reader.adopted),
        {edge: short("; ".join(texts)) for edge, texts in reader.conditions.items()},
    )


def _table(tables: tuple[Mapping[str, R], ...]) -> dict[str, R]:
    return {name: rule for table in tables for name, rule in table.items()}
