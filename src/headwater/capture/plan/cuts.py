"""Lineage across cuts in plans: rows that one plan made and that another one begins with."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from headwater.capture.plan.analysis import PlanLineage
from headwater.capture.plan.lineage import NO_EDGES, Note, Origin, Relation
from headwater.capture.plan.lineage import merge as either_column
from headwater.capture.plan.reader import moved, moved_edge, opaque
from headwater.capture.plan.sources import Source

Output = Sequence[tuple[int, str]]  # the columns that rows have in the plan that begins with them


def renamed(lineage: PlanLineage, output: Output) -> PlanLineage | None:
    """The lineage of rows whose columns have other ids by now; None if they are others."""
    relation = lineage.relation
    if len(relation.columns) != len(output):
        return None
    pairs = zip(output, relation.columns, strict=True)
    columns = tuple((field_id, name, column) for (field_id, name), (*_, column) in pairs)
    return replace(lineage, relation=replace(relation, columns=columns))


def through_code(
    lineages: Iterable[PlanLineage], output: Output, code: str, unknown: Iterable[Note] = ()
) -> PlanLineage:
    """The lineage of rows that passed through code: each column depends on everything."""
    sources, parts = side_by_side(lineages)
    note = Note("opaque", f"rows that passed through {code}")
    relation = opaque(tuple(part.relation for part in parts), output, note)
    notes = frozenset(unknown).union(*(part.row_notes for part in parts))
    return PlanLineage(sources, relation, row_notes=notes)


def any_of(lineages: Sequence[PlanLineage]) -> PlanLineage:
    """The lineage of rows that are those of any of several plans with the same columns."""
    sources, parts = side_by_side(lineages)
    relations = [part.relation for part in parts]
    columns = tuple(
        (*same[0][:2], either_column(column for *_, column in same))
        for same in zip(*(relation.columns for relation in relations), strict=True)
    )
    rows = NO_EDGES.union(*(relation.rows for relation in relations))
    presence = frozenset[Origin]().union(*(relation.presence for relation in relations))
    return PlanLineage(
        sources,
        Relation(columns, rows, presence),
        row_notes=frozenset[Note]().union(*(part.row_notes for part in parts)),
        conditions={edge: text for part in parts for edge, text in part.conditions.items()},
    )


def side_by_side(
    lineages: Iterable[PlanLineage],
) -> tuple[tuple[Source, ...], list[PlanLineage]]:
    """Several lineages over one list of sources, each source once."""
    sources: list[Source] = []
    parts = []
    for lineage in lineages:
        sources += [source for source in lineage.sources if source not in sources]
        parts.append(placed(lineage, sources, [sources.index(one) for one in lineage.sources]))
    return tuple(sources), parts


def placed(lineage: PlanLineage, sources: Sequence[Source], places: Sequence[int]) -> PlanLineage:
    """The same lineage over other sources, by the place that each of its own has there."""
    conditions = {moved_edge(edge, places): text for edge, text in lineage.conditions.items()}
    relation = moved(lineage.relation, places)
    return replace(lineage, sources=tuple(sources), relation=relation, conditions=conditions)
