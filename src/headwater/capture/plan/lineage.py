"""The values that plan reading computes: where a column comes from, and what decides its rows."""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from headwater.capture.plan.formulas import either


class Effect(Enum):
    """How an input field takes part in an output field, in OpenLineage's words."""

    IDENTITY = ("DIRECT", "IDENTITY")
    TRANSFORMATION = ("DIRECT", "TRANSFORMATION")
    AGGREGATION = ("DIRECT", "AGGREGATION")
    JOIN = ("INDIRECT", "JOIN")
    GROUP_BY = ("INDIRECT", "GROUP_BY")
    FILTER = ("INDIRECT", "FILTER")
    SORT = ("INDIRECT", "SORT")
    WINDOW = ("INDIRECT", "WINDOW")
    CONDITIONAL = ("INDIRECT", "CONDITIONAL")

    @property
    def direct(self) -> bool:
        """Whether the input's value itself reaches the output."""
        return self.value[0] == "DIRECT"


class Origin(NamedTuple):
    """A field of a source; `payload` while it is an encoded record, such as Kafka's value.

    `nested` is the way to a value inside the field, as the schema facet writes it: `geo.lat`.
    """

    source: int
    field: str
    payload: bool = False
    nested: str = ""

    @property
    def name(self) -> str:
        """The dotted name of the value."""
        return f"{self.field}.{self.nested}" if self.nested else self.field

    def inside(self, segment: str) -> "Origin":
        """A value inside this one."""
        return self._replace(nested=f"{self.nested}.{segment}" if self.nested else segment)

    def holds(self, other: "Origin") -> bool:
        """Whether another value is this one or inside it."""
        if self[:2] != other[:2]:
            return False
        return not self.nested or f"{other.nested}.".startswith(f"{self.nested}.")


class Edge(NamedTuple):
    """One input field of a column, with its effect."""

    origin: Origin
    effect: Effect
    masking: bool = False


class Note(NamedTuple):
    """Something on the way that lineage cannot see into: `opaque` by nature, or `unknown`."""

    kind: str
    name: str


Edges: TypeAlias = frozenset[Edge]
NO_EDGES: Edges = frozenset()
NO_NOTES: frozenset[Note] = frozenset()


class Column(Struct, frozen=True):
    """Where one value comes from.

    `fields` are a struct's, kept apart as long as they can be, or the parts of an array or a
    map (`ELEMENT`, `KEY`, `VALUE`). `edges` are what the whole value depends on beyond its
    fields. `whole` is where the value comes from if it is not put together from its fields, as
    a struct that is copied. A `decoded` column is a payload whose fields are those of the
    topic, named when they are asked for. `texts` are the constants that the value may be, where
    the query writes them out. `formula` is the expression that makes the value, over the names
    of source fields.
    """

    edges: Edges = NO_EDGES
    fields: Mapping[str, "Column"] | None = None
    notes: frozenset[Note] = NO_NOTES
    decoded: bool = False
    texts: frozenset[str] = frozenset()
    formula: str = ""
    whole: Edges = NO_EDGES

    def flat(self) -> Edges:
        """Every edge of the value, those of its fields included; no field is the whole."""
        if self.whole or not self.fields:
            return self.edges | self.whole
        fields = NO_EDGES.union(*(field.flat() for field in self.fields.values()))
        return self.edges | changed(fields, Effect.TRANSFORMATION)

    def all_notes(self) -> frozenset[Note]:
        """Every note on the value, those on its fields included."""
        if not self.fields:
            return self.notes
        return self.notes.union(*(field.all_notes() for field in self.fields.values()))

    def field(self, name: str) -> "Column":
        """The column of one field of this struct."""
        if self.decoded:
            return Column(frozenset(_decode(self.edges, name)), notes=self.notes, formula=name)
        if self.fields is None:
            return self.through(Effect.TRANSFORMATION)
        found = self.fields.get(name) or self._field_ignoring_case(name)
        if found is None:
            return self.through(Effect.TRANSFORMATION)
        return replace(found, edges=found.edges | self.edges, notes=found.notes | self.notes)

    def through(self, effect: Effect, *, masking: bool = False) -> "Column":
        """The value after a function: no longer a struct, its edges changed by `effect`."""
        return Column(changed(self.flat(), effect, masking=masking), notes=self.all_notes())

    def apply(self, effect: Effect) -> "Column":
        """The value after a function that leaves a struct's fields apart."""
        fields = {n: c.apply(effect) for n, c in self.fields.items()} if self.fields else None
        edges, whole = changed(self.edges, effect), changed(self.whole, effect)
        return Column(edges, fields, self.notes, self.decoded, formula=self.formula, whole=whole)

    def converted(self) -> "Column":
        """The value in another form, as when it is encoded; its fields are what they were."""
        if not self.whole:
            return self
        return replace(self, whole=changed(self.whole, Effect.TRANSFORMATION))

    def with_edges(self, edges: Edges) -> "Column":
        """The same value, also depending on `edges`."""
        if edges <= self.edges:
            return self
        return replace(self, edges=self.edges | edges)

    def with_texts(self, texts: frozenset[str]) -> "Column":
        """The same value, which may also be one of these constants."""
        if texts <= self.texts:
            return self
        return replace(self, texts=self.texts | texts)

    def with_note(self, note: Note) -> "Column":
        """The same value with `note` on it."""
        return replace(self, notes=self.notes | {note}, texts=frozenset())

    def with_formula(self, formula: str) -> "Column":
        """The same value, with the expression that makes it."""
        return self if formula == self.formula else replace(self, formula=formula)

    def _field_ignoring_case(self, name: str) -> "Column | None":
        folded = name.casefold()
        return next((c for n, c in (self.fields or {}).items() if n.casefold() == folded), None)


class Relation(Struct, frozen=True):
    """What a plan node puts out: its columns in order, and what decides which rows there are.

    `rows` hold for every column. `presence` are fields that decide how often a row occurs
    without a condition on them (an exploded array, the input of a Python function); they
    count only for columns that do not depend on them anyway.
    """

    columns: tuple[tuple[int, str, Column], ...]
    rows: Edges = NO_EDGES
    presence: frozenset[Origin] = frozenset()
    watermark: Edges = NO_EDGES
    streaming: bool = False

    def by_id(self) -> dict[int, Column]:
        """The columns by Catalyst's expression id."""
        return {expr_id: column for expr_id, _, column in self.columns}

    def everything(self) -> Edges:
        """Every edge of every column."""
        return NO_EDGES.union(*(column.flat() for _, _, column in self.columns))

    def notes(self) -> frozenset[Note]:
        """Every note on every column."""
        return NO_NOTES.union(*(column.all_notes() for _, _, column in self.columns))


def changed(edges: Iterable[Edge], effect: Effect, *, masking: bool = False) -> Edges:
    """Edges after an expression of `effect`; what was aggregated stays so, as does masking."""
    return frozenset(_changed(edges, effect, masking))


def combined(first: Effect, second: Effect) -> Effect:
    """The effect of two steps: an indirect one stays so, of direct ones the graver counts."""
    for effect in (second, first):
        if not effect.direct:
            return effect
    return max(first, second, key=_RANK.__getitem__)


def merge(columns: Iterable[Column]) -> Column:
    """One column that may be any of `columns`, as in a union or the branches of a condition."""
    listed = list(columns)
    texts = frozenset[str]().union(*(c.texts for c in listed))
    formula = either([c.formula for c in listed])
    parts = [c for c in listed if c.edges or c.fields or c.notes]
    if not parts:
        return Column(texts=texts, formula=formula)
    if len(parts) == 1:
        return parts[0].with_texts(texts).with_formula(formula)
    edges = NO_EDGES.union(*(c.edges for c in parts))
    notes = NO_NOTES.union(*(c.notes for c in parts))
    if all(c.decoded for c in parts):
        return Column(edges, notes=notes, decoded=True, formula=formula)
    shapes = [c.fields for c in parts if c.fields]
    if len(shapes) < len(parts):
        flat = NO_EDGES.union(*(c.flat() for c in parts))
        return Column(flat, notes=notes, texts=texts, formula=formula)
    whole = NO_EDGES
    if any(c.whole for c in parts):
        whole = NO_EDGES.union(*(c.flat() for c in parts)) - edges
    return Column(edges, _merge_fields(shapes), notes, formula=formula, whole=whole)


def _changed(edges: Iterable[Edge], effect: Effect, masking: bool) -> Iterator[Edge]:
    for edge in edges:
        after = effect
        if effect.direct:
            keep = not edge.effect.direct or _RANK[edge.effect] > _RANK[effect]
            after = edge.effect if keep else effect
        yield Edge(edge.origin, after, edge.masking or masking)


_RANK = {Effect.IDENTITY: 0, Effect.TRANSFORMATION: 1, Effect.AGGREGATION: 2}


def _decode(edges: Edges, name: str) -> Iterator[Edge]:
    for edge in edges:
        origin = edge.origin
        if origin.payload and edge.effect.direct:
            field = name if origin.field != "key" else f"key.{name}"
            identity = edge.effect in (Effect.IDENTITY, Effect.TRANSFORMATION)
            effect = Effect.IDENTITY if identity else edge.effect
            yield Edge(Origin(origin.source, field), effect, edge.masking)
        else:
            yield from _changed((edge,), Effect.TRANSFORMATION, False)


def _merge_fields(shapes: list[Mapping[str, Column]]) -> dict[str, Column]:
    first = list(shapes[0])
    if any(set(shape) != set(first) for shape in shapes) and _same_length(shapes):
        rows = zip(*(shape.values() for shape in shapes), strict=True)
        return {name: merge(row) for name, row in zip(first, rows, strict=True)}
    names = dict.fromkeys(name for shape in shapes for name in shape)
    return {name: merge([s[name] for s in shapes if name in s]) for name in names}


def _same_length(shapes: list[Mapping[str, Column]]) -> bool:
    return len({len(shape) for shape in shapes}) == 1
