"""Pass two of plan reading: one walk bottom-up, each node by the rule for its kind.

A rule is a function of a node and of what its children put out. The tables of rules live in
`rules/`, one module for each family of nodes; what no table names is treated as depending
on everything below it, and is noted by name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from headwater.capture.plan.branches import only_branch
from headwater.capture.plan.formulas import FIELDS, PATHS, SAME, bare, field_name, formula
from headwater.capture.plan.lineage import (
    Column,
    Edge,
    Edges,
    Effect,
    Note,
    Origin,
    Relation,
    changed,
    merge,
)
from headwater.capture.plan.sources import Source, expr_id, relation_of, source_of
from headwater.capture.plan.tree import Node, fold

# Every expression of Catalyst itself is a function of its children and nothing else.
_CATALYST = "org.apache.spark.sql.catalyst"


Ids = tuple[int, ...]
NO_COLUMN = Column()


class Handed(NamedTuple):
    """What is known of rows that another plan handed over."""

    sources: tuple[Source, ...]
    relation: Relation
    row_notes: frozenset[Note]
    conditions: Mapping[Edge, str]


class Scope:
    """The columns that expressions of one node may name; `outer` is the enclosing query's.

    `common` is the value that is written once within an expression and used several times.
    """

    __slots__ = ("columns", "common", "outer")

    def __init__(
        self,
        columns: Mapping[int, Column],
        outer: "Scope | None" = None,
        common: Column = NO_COLUMN,
    ) -> None:
        self.columns, self.outer, self.common = columns, outer, common

    @classmethod
    def over(cls, inputs: Iterable[Relation], outer: "Scope | None") -> "Scope":
        """The scope of a node above `inputs`."""
        columns: dict[int, Column] = {}
        for relation in inputs:
            columns.update(relation.by_id())
        return cls(columns, outer)

    def find(self, wanted: int) -> Column | None:
        """The column with this id, here or in an enclosing query."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.columns.get(wanted)
            if found is not None:
                return found
            scope = scope.outer
        return None

    def within(self, common: Column) -> "Scope":
        """The scope of an expression that may use a value defined around it."""
        return Scope(self.columns, self.outer, merge((self.common, common)))

    def everything(self) -> Column:
        """All columns of this scope as one."""
        return merge(column.through(Effect.TRANSFORMATION) for column in self.columns.values())


class Reader:
    """Reads one plan: collects its sources and computes what each node puts out."""

    def __init__(
        self,
        relation_rules: Mapping[str, "RelationRule"],
        expression_rules: Mapping[str, "ExpressionRule"],
        lazy: frozenset[str] = frozenset(),
    ) -> None:
        self.relation_rules, self.expression_rules = relation_rules, expression_rules
        self.lazy = lazy
        self.sources: list[Source] = []
        self.ctes: dict[int, Relation] = {}
        self.loops: dict[int, Relation] = {}
        self.handed: dict[Ids, Handed] = {}
        self.adopted: set[Ids] = set()
        self.row_notes: frozenset[Note] = frozenset()
        self.conditions: dict[Edge, dict[str, None]] = {}

    def relation(self, plan: Node, outer: Scope | None = None) -> Relation:
        """What a plan puts out."""

        def visit(node: Node, inputs: tuple[Relation, ...]) -> Relation:
            rule = self.relation_rules.get(node.type_name, unknown_relation)
            return rule(self, node, inputs, outer)

        return fold(plan, visit, self._eager_children)

    def column(self, expression: Node, scope: Scope) -> Column:
        """Where an expression's value comes from."""

        def visit(node: Node, inputs: tuple[Column, ...]) -> Column:
            column = self._value(node, inputs, scope)
            return column.with_formula(self._formula(node, inputs, column, scope))

        return fold(expression, visit, self._eager_children)

    def _value(self, node: Node, inputs: tuple[Column, ...], scope: Scope) -> Column:
        rule = self.expression_rules.get(node.type_name)
        if rule is not None:
            return rule(self, node, inputs, scope)
        column = merge(c.through(Effect.TRANSFORMATION) for c in inputs)
        if node.package.startswith(_CATALYST):
            return column
        return column.with_note(Note("unknown", node.type_name))

    def _formula(self, node: Node, inputs: tuple[Column, ...], column: Column, scope: Scope) -> str:
        own = list(node.expressions()) if node.get("replacement") is not None else []
        if not own:
            return _formula(node, inputs, column)
        # A function that Spark replaces by others: its arguments are beside the replacement.
        return formula(node, [self.column(one, scope).formula for one in own], ())

    def columns(self, expressions: Iterable[Node], scope: Scope) -> Column:
        """Where several values together come from."""
        return merge(
            self.column(expression, scope).through(Effect.TRANSFORMATION)
            for expression in expressions
        )

    def edges(self, expressions: Iterable[Node], scope: Scope, effect: Effect) -> Edges:
        """The edges of expressions that decide about rows, with the effect they have."""
        edges: Edges = frozenset()
        for expression in expressions:
            column = self.column(expression, scope)
            self.row_notes |= column.all_notes()
            found = changed(column.flat(), effect)
            for edge in found:
                self.conditions.setdefault(edge, {})[bare(column.formula)] = None
            edges |= found
        return edges

    def source(self, node: Node) -> Relation:
        """What a leaf that reads a dataset puts out."""
        found = source_of(node)
        return relation_of(found, self._place(found))

    def adopt(self, ids: Ids) -> Relation | None:
        """What another plan handed over, if its output has these ids."""
        handed = self.handed.get(ids)
        if handed is None:
            return None
        self.adopted.add(ids)
        places = [self._place(source) for source in handed.sources]
        self.row_notes |= handed.row_notes
        for edge, text in handed.conditions.items():
            known = self.conditions.setdefault(moved_edge(edge, places), {})
            known.update(dict.fromkeys(text.split("; ")))
        return moved(handed.relation, places)

    def _place(self, source: Source) -> int:
        if source not in self.sources:
            self.sources.append(source)
        return self.sources.index(source)

    def named(
        self, expressions: Iterable[Node], scope: Scope
    ) -> tuple[tuple[int, str, Column], ...]:
        """The columns of a list of named expressions, such as a projection's."""
        return tuple((expr_id(e), str(e.get("name")), self.column(e, scope)) for e in expressions)

    def _eager_children(self, node: Node) -> tuple[Node, ...]:
        return () if node.type_name in self.lazy else node.children


def _formula(node: Node, inputs: tuple[Column, ...], column: Column) -> str:
    """The text of an expression, from those of its arguments."""
    if node.type_name in SAME:
        return column.formula or (inputs[0].formula if inputs else str(node.get("name") or ""))
    if node.type_name in FIELDS:
        return column.formula or f"{inputs[0].formula}.{field_name(node)}"
    if column.formula and (node.type_name in PATHS or (inputs and inputs[0].decoded)):
        return column.formula  # a field of a record: named by what the record has
    only = only_branch(node)
    if only is not None:
        return inputs[only].formula
    origins: tuple[str, ...] = ()
    if node.type_name == "PreciseTimestampConversion":
        origins = tuple({edge.origin.name for edge in column.edges})
    return formula(node, [one.formula for one in inputs], origins)


RelationRule = Callable[[Reader, Node, tuple[Relation, ...], Scope | None], Relation]
ExpressionRule = Callable[[Reader, Node, tuple[Column, ...], Scope], Column]


def unknown_relation(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], _outer: Scope | None
) -> Relation:
    """A node that no rule names: whatever it puts out depends on everything it takes in."""
    if not inputs and node.trees("output"):
        relation = reader.source(node)
        return noted(relation, Note("unknown", node.type_name))
    return opaque(inputs, _outputs(node, inputs), Note("unknown", node.type_name))


def opaque(inputs: tuple[Relation, ...], output: Iterable[tuple[int, str]], note: Note) -> Relation:
    """A relation each of whose columns depends on all columns of its inputs."""
    whole = merge(
        column.through(Effect.TRANSFORMATION) for r in inputs for _, _, column in r.columns
    ).with_note(note)
    below = together(inputs)
    origins = frozenset(edge.origin for edge in whole.flat())
    return Relation(
        tuple((field_id, name, whole) for field_id, name in output),
        below.rows,
        below.presence | origins,
        below.watermark,
        below.streaming,
    )


def together(inputs: Iterable[Relation]) -> Relation:
    """Inputs side by side: all their columns, and everything that decides about their rows."""
    relations = tuple(inputs)
    presence: frozenset[Origin] = frozenset()
    return Relation(
        tuple(column for r in relations for column in r.columns),
        frozenset().union(*(r.rows for r in relations)),
        presence.union(*(r.presence for r in relations)),
        frozenset().union(*(r.watermark for r in relations)),
        any(r.streaming for r in relations),
    )


def noted(relation: Relation, note: Note) -> Relation:
    """The same relation with a note on each column."""
    columns = tuple((i, name, column.with_note(note)) for i, name, column in relation.columns)
    return Relation(
        columns, relation.rows, relation.presence, relation.watermark, relation.streaming
    )


def moved(relation: Relation, places: Sequence[int]) -> Relation:
    """The same relation in a plan where its sources have other positions."""
    columns = tuple((i, name, _moved(column, places)) for i, name, column in relation.columns)
    return Relation(
        columns,
        _moved_edges(relation.rows, places),
        frozenset(origin._replace(source=places[origin.source]) for origin in relation.presence),
    )


def _moved(column: Column, places: Sequence[int]) -> Column:
    fields = None
    if column.fields is not None:
        fields = {name: _moved(field, places) for name, field in column.fields.items()}
    edges, whole = _moved_edges(column.edges, places), _moved_edges(column.whole, places)
    return replace(column, edges=edges, fields=fields, whole=whole)


def _moved_edges(edges: Edges, places: Sequence[int]) -> Edges:
    return frozenset(moved_edge(edge, places) for edge in edges)


def moved_edge(edge: Edge, places: Sequence[int]) -> Edge:
    """The same edge in a plan where its sources have other positions."""
    return edge._replace(origin=edge.origin._replace(source=places[edge.origin.source]))


def _outputs(node: Node, inputs: tuple[Relation, ...]) -> list[tuple[int, str]]:
    """The columns an unknown node may put out: those below it, and any that it names itself."""
    found = {i: name for r in inputs for i, name, _ in r.columns}
    for expression in node.expressions():
        if expression.get("exprId") is not None and expression.get("name") is not None:
            found.setdefault(expr_id(expression), str(expression.get("name")))
    return list(found.items())
