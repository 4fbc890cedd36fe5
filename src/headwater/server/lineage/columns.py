"""Walks the lineage of columns, upstream and down, from any column.

A mapping belongs to the graph while the job that told it still writes the dataset. A column exists
if a schema or a mapping names it, until a schema that had it is followed by one without it: a
schema may list only some of the columns.
"""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.openlineage.names import FieldName
from headwater.server.lineage.mappings import mappings_into, mappings_out_of
from headwater.server.lineage.run_io import versions_at
from headwater.server.lineage.schemas import dropped_columns, schemas_of
from headwater.server.lineage.transformations import step_type, told_steps, told_type
from headwater.server.lineage.view import IndexedMapping, Schema, StoreView, uuid_text
from headwater.server.marquez import datasets
from headwater.server.marquez.responses import (
    DetailedInput,
    Edge,
    FieldData,
    Graph,
    InputFieldNode,
    Name,
    Node,
)
from headwater.server.marquez.runs import job_names
from headwater.server.store.contents import Input, Output

Column = tuple[int, str]  # a dataset's root, and a field
_EDGE, _TOLD = 320, 80  # bytes of a column edge and of a transformation in an answer, about


class Step(NamedTuple):
    """One way from a column into another."""

    given: Input
    output: Output | None  # none, where it holds for the whole dataset
    job: int


class ColumnWalk:
    """The columns in reach and the steps between them."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self.steps: dict[tuple[Column, Column], list[Step]] = {}  # (to, from)
        self.columns: dict[Column, None] = {}
        self._roots: dict[int, int] = {}
        self._schemas: dict[int, Schema | None] = {}
        self._dropped: dict[int, set[str]] = {}
        self._writers: dict[int, list[tuple[int, int]]] = {}
        self._readers: dict[int, list[tuple[int, int, int]]] = {}

    def upstream(self, start: Iterable[Column], depth: int) -> None:
        """Follow columns to what they come from."""
        level = dict.fromkeys(start)
        self.columns.update(level)
        for _ in range(depth):
            found: dict[Column, None] = {}
            mappings = self._written_by({root for root, _ in level})
            for column in level:
                for mapping, job in self._writers.get(column[0], ()):
                    self._up(column, mappings[mapping], job, found)
            level = {c: None for c in found if c not in self.columns}
            self.columns.update(level)
            if not level:
                return

    def downstream(self, start: Iterable[Column], depth: int) -> None:
        """Follow columns to what they feed."""
        level, seen = dict.fromkeys(start), set(start)
        self.columns.update(level)
        for _ in range(depth):
            found: dict[Column, None] = {}
            mappings = self._read_by({root for root, _ in level})
            for column in level:
                for mapping, job, target in self._readers.get(column[0], ()):
                    self._down(column, mappings[mapping], job, target, found)
            level = {c: None for c in found if c not in seen}
            seen |= level.keys()
            self.columns.update(level)
            if not level:
                return

    def _up(
        self, column: Column, mapping: IndexedMapping, job: int, found: dict[Column, None]
    ) -> None:
        output = mapping.outputs.get(column[1])
        if output is None and not (mapping.dataset and self._has(column)):
            return
        for given, told in self._inputs(mapping, output):
            origin = (self._roots[given.dataset], given.field)
            if self._has(origin):
                self._step(column, origin, Step(given, told, job))
                found[origin] = None

    def _down(
        self,
        column: Column,
        mapping: IndexedMapping,
        job: int,
        target: int,
        found: dict[Column, None],
    ) -> None:
        members = [dataset for dataset in mapping.inputs if self._roots[dataset] == column[0]]
        whole = [
            g for dataset in members for g in mapping.whole.get(dataset, {}).get(column[1], ())
        ]
        fed = [mapping.fed_by.get(dataset, {}).get(column[1], {}) for dataset in members]
        fields = dict.fromkeys(field for outputs in fed for field in outputs)
        if whole:
            schema = self._schemas.get(target)
            fields |= dict.fromkeys([*mapping.outputs, *(schema.names if schema else ())])
        for field in fields:
            reached = (target, field)
            if not self._has(reached):
                continue
            found[reached] = None
            for given in [given for outputs in fed for given in outputs.get(field, ())]:
                self._step(reached, column, Step(given, mapping.outputs[field], job))
            for given in whole:
                self._step(reached, column, Step(given, None, job))

    @staticmethod
    def _inputs(
        mapping: IndexedMapping, output: Output | None
    ) -> list[tuple[Input, Output | None]]:
        direct: list[tuple[Input, Output | None]]
        direct = [(given, output) for given in output.inputs] if output else []
        return direct + [(given, None) for given in mapping.dataset]

    def _step(self, to: Column, origin: Column, step: Step) -> None:
        steps = self.steps.get((to, origin))
        if steps is None:
            steps = self.steps[to, origin] = []
        elif step in steps:
            return
        told = sum(_TOLD + len(text or "") for _, _, text, _ in step.given.steps)
        self._view.budget.take_columns(_EDGE + told)
        steps.append(step)

    def _has(self, column: Column) -> bool:
        """Whether a column that a schema or a mapping names exists."""
        root, name = column
        schema = self._schemas.get(root)
        return schema is None or name in schema.names or name not in self._dropped_from(root)

    def _dropped_from(self, root: int) -> set[str]:
        if root not in self._dropped:
            self._dropped[root] = dropped_columns(self._view, root, self._schemas.get(root))
        return self._dropped[root]

    def _written_by(self, roots: set[int]) -> dict[int, IndexedMapping]:
        new = [root for root in roots if root not in self._writers]
        rows = mappings_into(self._view, new)
        self._writers.update({root: [] for root in new})
        for root, mapping, job in rows:
            self._writers[root].append((mapping, job))
        used = {m for root in roots for m, _ in self._writers[root]}
        return self._known(used, roots)

    def _read_by(self, roots: set[int]) -> dict[int, IndexedMapping]:
        new = [root for root in roots if root not in self._readers]
        out_of = mappings_out_of(self._view, new)
        self._readers.update({root: [] for root in new})
        for root, mapping, job, target in out_of:
            self._readers[root].append((mapping, job, target))
        used = {m for root in roots for m, _, _ in self._readers[root]}
        targets = {t for root in roots for _, _, t in self._readers[root]}
        return self._known(used, roots | targets)

    def _known(self, mappings: set[int], roots: set[int]) -> dict[int, IndexedMapping]:
        """Mappings, with the roots and schemas of every dataset in them at hand."""
        found = self._view.mappings(mappings)
        members = {dataset for mapping in found.values() for dataset in mapping.inputs}
        missing = [member for member in members if member not in self._roots]
        rows = self._view.session.all("SELECT id, root FROM dataset WHERE id = ANY(?)", missing)
        self._roots.update({row[0]: row[1] for row in rows})
        self.load_schemas(roots | {self._roots[member] for member in members})
        return found

    def load_schemas(self, roots: set[int]) -> None:
        """Have the schemas of datasets at hand."""
        new = [root for root in roots if root not in self._schemas]
        if new:
            self._schemas.update(dict.fromkeys(new))
            self._schemas.update(schemas_of(self._view, new))

    def schema(self, root: int) -> Schema | None:
        """The schema of a dataset in reach."""
        return self._schemas.get(root)

    def rows(self, roots: list[int]) -> dict[int, datasets.Row]:
        """Datasets as they are shown."""
        return datasets.rows_of(self._view, roots)

    def outputs_of(self, root: int) -> list[Column]:
        """The columns of a dataset: those of its schema, and those that mappings name."""
        mappings = self._written_by({root})
        schema = self._schemas.get(root)
        names = dict.fromkeys(schema.names if schema else ())
        for mapping in mappings.values():
            names.update(dict.fromkeys(mapping.outputs))
        return [(root, name) for name in names if self._has((root, name))]

    def knows(self, column: Column) -> bool:
        """Whether a column is in its dataset's schema, or in a mapping."""
        self.load_schemas({column[0]})
        schema = self._schemas.get(column[0])
        if schema is not None and column[1] in schema.names:
            return True
        if not self._has(column):
            return False
        mappings = [*self._written_by({column[0]}).values(), *self._read_by({column[0]}).values()]
        return any(
            column[1] in mapping.outputs
            or any(
                self._roots[d] == column[0] and column[1] in f for d, f in mapping.fed_by.items()
            )
            or any((self._roots[g.dataset], g.field) == column for g in mapping.dataset)
            for mapping in mappings
        )


def column_graph(
    view: StoreView, walk: ColumnWalk, *, is_versioned: bool = False, is_detailed: bool = False
) -> Graph:
    """The columns of a walk as a graph; columns that nothing leads to or from are left out."""
    linked = {column for pair in walk.steps for column in pair}
    return _Writer(view, walk, is_versioned, is_detailed).graph(linked)


class _Writer:
    def __init__(
        self, view: StoreView, walk: ColumnWalk, is_versioned: bool, is_detailed: bool
    ) -> None:
        self._walk, self._is_versioned, self._is_detailed = walk, is_versioned, is_detailed
        roots = sorted({column[0] for pair in walk.steps for column in pair})
        self._rows = walk.rows(roots)
        versions = versions_at(view, set(roots), view.at)
        self._versions = {r: uuid_text(versions[r]) if r in versions else None for r in roots}
        job_ids = {step.job for steps in walk.steps.values() for step in steps}
        names = job_names(view, job_ids) if is_detailed else {}
        self._jobs = {number: Name(*name) for number, name in names.items()}
        self._into: dict[Column, list[Column]] = {}
        self._out: dict[Column, list[Column]] = {}
        for to, origin in walk.steps:
            self._into.setdefault(to, []).append(origin)
            self._out.setdefault(origin, []).append(to)

    def graph(self, columns: set[Column]) -> Graph:
        nodes = [self._node(column) for column in columns]
        return Graph(sorted(nodes, key=lambda node: node.id))

    def _id(self, column: Column) -> str:
        row = self._rows[column[0]]
        text = str(FieldName(row.namespace, row.name, column[1]))
        version = self._versions[column[0]]
        return f"{text}#{version}" if self._is_versioned and version else text

    def _node(self, column: Column) -> Node:
        row, node_id = self._rows[column[0]], self._id(column)
        origins = sorted(self._into.get(column, ()), key=self._id)
        schema = self._walk.schema(column[0])
        inputs = [self._input(column, origin) for origin in origins]
        told = inputs[0] if inputs else None
        data = FieldData(
            row.namespace, row.name, self._versions[column[0]], column[1],
            schema.types.get(column[1], "") if schema and inputs else "",
            told.transformation_description if told else None,
            told.transformation_type if told else None, [*inputs],
        )  # fmt: skip
        return Node(
            node_id, "DATASET_FIELD", data,
            [Edge(node_id, self._id(origin)) for origin in origins],
            [Edge(node_id, self._id(to)) for to in sorted(self._out.get(column, ()), key=self._id)],
        )  # fmt: skip

    def _input(self, column: Column, origin: Column) -> InputFieldNode:
        row = self._rows[origin[0]]
        steps = self._walk.steps[column, origin]
        if len(steps) > 1:
            steps = sorted(steps, key=self._precedence)
        step = steps[0]
        text, kind = told_type(step.output, step.given) if step.output else step_type(step.given)
        base = (row.namespace, row.name, self._versions[origin[0]], origin[1], text, kind)
        if not self._is_detailed:
            return InputFieldNode(*base)
        told = told_steps(s.given for s in steps)
        return DetailedInput(*base, told, self._jobs.get(step.job))

    def _precedence(self, step: Step) -> tuple[bool, str, str]:
        """What tells steps between two columns apart, whichever was stored first."""
        job = self._jobs.get(step.job)
        output = step.output and (step.output.description, step.output.type)
        told = repr((output, step.given.steps))
        return step.output is None, told, f"{job.namespace}:{job.name}" if job else ""
