"""Values inside others: the fields of structs, the elements of arrays, the keys and values of maps.

Inside plan reading the parts of arrays and maps are fields with names that no struct has. In the
names of origins and outputs they are written as in the schema facet: `lines._element.sku`,
`attrs.value`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headwater.capture.plan.lineage import NO_EDGES, Column, Edge, Edges, Effect, changed, combined

ELEMENT, KEY, VALUE = "[]", "[key]", "[value]"
_SEGMENTS = {ELEMENT: "_element", KEY: "key", VALUE: "value"}

# A column with more values inside it is not opened: it is one column, as a text would be.
MOST_INSIDE = 1_000
# Who depends on more values inside one column than these depends on the column.
MOST_PICKED = 100


def parts(kind: Any) -> list[tuple[str, Any]]:
    """What a type has inside it, with the types of that, in Catalyst's JSON."""
    if not isinstance(kind, dict):
        return []
    if kind.get("type") == "struct":
        return [(str(field["name"]), field["type"]) for field in kind["fields"]]
    if kind.get("type") == "array":
        return [(ELEMENT, kind.get("elementType"))]
    if kind.get("type") == "map":
        return [(KEY, kind.get("keyType")), (VALUE, kind.get("valueType"))]
    return []


def opened(edges: Edges, kind: Any) -> Column:
    """A value of a source, with the values inside it apart; `edges` are its own."""
    return _opened(edges, kind) if _is_small(kind) else Column(edges)


def decode(column: Column, kind: Any) -> Column:
    """A payload read by from_avro, from_json and their like: its fields are the topic's."""
    if column.fields:
        return column
    record = Column(column.edges, notes=column.notes, decoded=True, formula=column.formula)
    return named(record, kind)


def named(column: Column, kind: Any) -> Column:
    """A decoded payload with the fields of its type spelled out; any other column unchanged."""
    inside = parts(kind)
    if not column.decoded or not inside or kind["type"] == "map":
        return column
    if kind["type"] == "array":  # of records: a batch of them in one payload
        fields = {ELEMENT: named(column, inside[0][1]).apply(Effect.TRANSFORMATION)}
    else:
        fields = {name: _field(column, name, type_) for name, type_ in inside}
    return Column(fields=fields, notes=column.notes, formula=column.formula)


def recast(column: Column, kind: Any) -> Column:
    """A value in another type: fields keep what they are, under the names of the new type."""
    inside = parts(kind)
    if not column.fields or len(inside) != len(column.fields):
        return column.converted()
    pairs = zip(inside, column.fields.values(), strict=True)
    fields = {name: recast(field, type_) for (name, type_), field in pairs}
    whole = changed(column.whole, Effect.TRANSFORMATION)
    return Column(column.edges, fields, column.notes, formula=column.formula, whole=whole)


def inside_of(column: Column, name: str, kind: Any = None) -> Iterator[tuple[str, Column]]:
    """The values inside an output column, by their dotted names.

    What is copied as a whole is not taken apart. A type that is known says what is inside: a
    record that was encoded into a text is not.
    """
    if not column.fields or _is_copied(column):
        return
    types = None if kind is None else dict(parts(kind))
    for field in column.fields:
        if types is not None and field not in types:
            continue
        value, type_ = column.field(field), types[field] if types else None
        path = f"{name}.{_SEGMENTS.get(field, field)}"
        found = list(inside_of(value, path, type_))
        yield from found or [(path, value)]


def inside_edges(edges: Edges, way: list[str]) -> Edges:
    """The edges of a value inside another, for those that carry the other; the rest unchanged."""
    carried = frozenset(edge for edge in edges if edge.effect is Effect.IDENTITY)
    rest = edges - carried
    for name in way:
        carried = _inside(carried, name)
    return carried | rest


def outermost(edges: Iterable[Edge], told: Callable[[Edge], str] = lambda _: "") -> list[Edge]:
    """Edges without those that others stand for; `told` is the expression of each.

    Who depends on a value depends on what is inside it; who depends on very many values inside a
    column is taken to depend on the column. What decides stands for nothing that flows, and for
    nothing that decides in another way or by another condition.
    """
    listed = list(edges)
    if not any(edge.origin.nested for edge in listed):
        return listed
    found: dict[tuple[int, str, Effect | None, str], list[Edge]] = {}
    for edge in listed:
        deciding = (None, "") if edge.effect.direct else (edge.effect, told(edge))
        found.setdefault((edge.origin.source, edge.origin.field, *deciding), []).append(edge)
    return [edge for group in found.values() for edge in _outermost(group)]


def _outermost(group: list[Edge]) -> Iterable[Edge]:
    """The same for the edges of one column, which are all direct or all decide alike."""
    names = {edge.origin.nested for edge in group}
    if len(names) > MOST_PICKED:
        return {Edge(e.origin._replace(nested=""), _held(e), e.masking) for e in group}
    return [edge for edge in group if not any(way in names for way in _ways_to(edge.origin.nested))]


def _ways_to(nested: str) -> Iterator[str]:
    """The names of all that hold a value."""
    while nested:
        nested = nested.rpartition(".")[0]
        yield nested


def _held(edge: Edge) -> Effect:
    return combined(edge.effect, Effect.TRANSFORMATION) if edge.origin.nested else edge.effect


def record_of(column: Column) -> Column:
    """The record that an encoded value holds; of a list of records, each."""
    while column.fields and ELEMENT in column.fields:
        column = column.field(ELEMENT)
    return column


def is_record(column: Column) -> bool:
    """Whether the fields of a value are those of a struct."""
    return bool(column.fields) and not _SEGMENTS.keys() & (column.fields or {}).keys()


def _is_copied(column: Column) -> bool:
    return bool(column.whole) and all(e.effect is Effect.IDENTITY for e in column.whole)


def _field(record: Column, name: str, kind: Any) -> Column:
    field = record.field(name)
    carried = frozenset(
        edge for edge in field.edges if edge.effect is Effect.IDENTITY and not edge.origin.payload
    )
    value = opened(carried, kind) if carried else Column()
    rest = field.edges - carried
    return Column(value.edges | rest, value.fields, field.notes, formula=name, whole=value.whole)


def _opened(edges: Edges, kind: Any) -> Column:
    inside = parts(kind)
    if not inside:
        return Column(edges)
    fields = {name: _opened(_inside(edges, name), type_) for name, type_ in inside}
    return Column(NO_EDGES, fields, whole=edges)


def _inside(edges: Edges, name: str) -> Edges:
    segment = _SEGMENTS.get(name, name)
    return frozenset(Edge(e.origin.inside(segment), e.effect, e.masking) for e in edges)


def _is_small(kind: Any) -> bool:
    """Whether no more is inside a type than is followed."""
    pending, count = [kind], 0
    while pending and count <= MOST_INSIDE:
        found = [type_ for _, type_ in parts(pending.pop())]
        pending += found
        count += len(found)
    return count <= MOST_INSIDE
