"""Walks the lineage of columns, upstream and down, from any column.

A mapping belongs to the graph while the job that told it still writes the dataset. A column exists
if a schema or a mapping names it, until a schema that had it is followed by one without it: a
schema may list only some of the columns. Columns that are internal to Headwater's own jobs do not
exist (`store.mapped_fields`). Values inside columns are columns with dotted names (`nested`).
"""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.server.lineage.indexed_mapping import IndexedMapping
from headwater.server.lineage.mappings import datasets_read, mappings_into, mappings_out_of
from headwater.server.lineage.nested import Way, deciding, may_hold, ways_down, ways_of_all, ways_up
from headwater.server.lineage.schemas import schemas_of, unlisted_columns
from headwater.server.lineage.view import Schema, StoreView
from headwater.server.store.contents import Input, Output

Column = tuple[int, str]  # a dataset's root, and a field
_EDGE, _TOLD = 320, 80  # bytes of a column edge and of a transformation in an answer, about
_WAYS = 100  # that are told between two columns


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
        self._unlisted: dict[int, frozenset[str]] = {}
        self._writers: dict[int, list[tuple[int, int]]] = {}
        self._readers: dict[int, list[tuple[int, int, int]]] = {}
        self._reads: dict[int, set[int]] = {}  # job → the roots of what it reads
        self._own: set[int] = set()  # datasets of the view's namespaces

    def upstream(self, start: Iterable[Column], depth: int) -> None:
        """Follow columns to what they come from."""
        level, seen = dict.fromkeys(start), set(start)
        self.columns.update(level)
        for _ in range(depth):
            found: dict[Column, None] = {}
            mappings = self._written_by({root for root, _ in level})
            for column in level:
                for mapping, job in self._writers.get(column[0], ()):
                    self._up(column, mappings[mapping], job, found)
            level = {c: None for c in found if c not in seen}
            seen |= level.keys()
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
        ways = ways_up(mapping, column[1])
        if mapping.dataset and (ways or column[1] in mapping.outputs or self._has(column)):
            ways = [*ways, *ways_of_all(mapping)]
        for way in ways:
            origin = self._at((self._roots[way.given.dataset], way.field), way.rest)
            if (
                self._is_read(way.given.dataset, job, column[0])
                and self._is_seen(column, origin)
                and self._has(origin)
            ):
                self._step(column, origin, Step(way.given, way.output, job))
                (self.columns if self._is_sum(way, origin) else found)[origin] = None

    def _is_sum(self, way: Way, column: Column) -> bool:
        """Whether a column is told beside finer ones; a dot in a name may also be just a dot."""
        schema = self._schemas.get(column[0]) if way.is_sum else None
        return way.is_sum and (schema is None or may_hold(schema.types.get(column[1])))

    def _at(self, column: Column, rest: str) -> Column:
        """What is inside a column, if a schema or a mapping names it, else the column."""
        if not rest:
            return column
        root, name = column[0], f"{column[1]}.{rest}"
        schema = self._schemas.get(root)
        is_named = (schema is not None and name in schema.names) or name in self._unlisted_in(root)
        return (root, name) if is_named else column

    def _down(
        self,
        column: Column,
        mapping: IndexedMapping,
        job: int,
        target: int,
        found: dict[Column, None],
    ) -> None:
        members = [
            dataset
            for dataset in mapping.inputs
            if self._roots[dataset] == column[0] and self._is_read(dataset, job, target)
        ]
        for way in (w for dataset in members for w in ways_down(mapping, dataset, column[1])):
            reached = self._at((target, way.field), way.rest)
            if self._is_seen(reached, column) and self._has(reached):
                self._step(reached, column, Step(way.given, way.output, job))
                (self.columns if self._is_sum(way, reached) else found)[reached] = None
        if not mapping.whole:
            return
        whole = [g for dataset in members for g in deciding(mapping, dataset, column[1])]
        if whole:
            schema = self._schemas.get(target)
            fields = dict.fromkeys([*mapping.outputs, *(schema.names if schema else ())])
            for reached in ((target, field) for field in fields):
                if self._is_seen(reached, column) and self._has(reached):
                    found[reached] = None
                    for given in whole:
                        self._step(reached, column, Step(given, None, job))

    def _step(self, to: Column, origin: Column, step: Step) -> None:
        steps = self.steps.get((to, origin))
        if steps is None:
            steps = self.steps[to, origin] = []
        elif len(steps) >= _WAYS or step in steps:
            return
        told = sum(_TOLD + len(text or "") for _, _, text, _ in step.given.steps)
        self._view.budget.take_columns(_EDGE + told)
        steps.append(step)

    def _is_seen(self, one: Column, other: Column) -> bool:
        """Whether a step between columns is: one of them is of the view's namespaces."""
        return one[0] in self._own or other[0] in self._own

    def _has(self, column: Column) -> bool:
        """Whether a column that a schema or a mapping names exists."""
        root, name = column
        schema = self._schemas.get(root)
        return schema is None or name in schema.names or name in self._unlisted_in(root)

    def _unlisted_in(self, root: int) -> frozenset[str]:
        if root not in self._unlisted:
            found = unlisted_columns(self._view, [root])
            self._unlisted[root] = frozenset(found.get(root, ()))
        return self._unlisted[root]

    def _written_by(self, roots: set[int]) -> dict[int, IndexedMapping]:
        new = [root for root in roots if root not in self._writers]
        if new:
            self._load_writers(new)
        used = {m for root in roots for m, _ in self._writers[root]}
        return self._known(used, roots)

    def _load_writers(self, new: list[int]) -> None:
        self._writers.update({root: [] for root in new})
        rows = mappings_into(self._view, new)
        for root, mapping, job in rows:
            self._writers[root].append((mapping, job))
        self._load_reads({row[2] for row in rows})

    def _read_by(self, roots: set[int]) -> dict[int, IndexedMapping]:
        new = [root for root in roots if root not in self._readers]
        self._readers.update({root: [] for root in new})
        rows = mappings_out_of(self._view, new) if new else []
        for root, mapping, job, target in rows:
            self._readers[root].append((mapping, job, target))
        self._load_reads({row[2] for row in rows})
        used = {m for root in roots for m, _, _ in self._readers[root]}
        targets = {t for root in roots for _, _, t in self._readers[root]}
        return self._known(used, roots | targets)

    def _load_reads(self, jobs: set[int]) -> None:
        new = {job for job in jobs if job and job not in self._reads}
        for job, roots in (datasets_read(self._view, new) if new else {}).items():
            self._reads[job] = {*roots.values()}
            self._roots.update(roots)

    def _is_read(self, dataset: int, job: int, target: int) -> bool:
        """Whether a job that writes a dataset also reads another; what depends on itself, is."""
        root = self._roots[dataset]
        return job == 0 or root in self._reads[job] or root == target

    def _known(self, mappings: set[int], roots: set[int]) -> dict[int, IndexedMapping]:
        """Mappings, with the roots and schemas of every dataset in them at hand."""
        found = self._view.mappings(mappings)
        members = {dataset for mapping in found.values() for dataset in mapping.inputs}
        # Not by the difference to the keys, which takes as long as there are keys.
        unknown = [member for member in members if member not in self._roots]
        self._roots.update(self._view.names.roots(unknown))
        self.load_schemas(roots | {self._roots[member] for member in members})
        return found

    def load_schemas(self, roots: set[int]) -> None:
        """Have the schemas of datasets at hand."""
        new = {root for root in roots if root not in self._schemas}
        if new:
            self._schemas.update(dict.fromkeys(new))
            self._schemas.update(schemas_of(self._view, new))
            self._own |= self._view.names.own(new)

    def load_mappings(self, roots: set[int]) -> None:
        """Have the mappings into and out of datasets at hand, with their schemas."""
        self.load_schemas(roots)
        self._written_by(roots)
        self._read_by(roots)

    def schema(self, root: int) -> Schema | None:
        """The schema of a dataset in reach."""
        return self._schemas.get(root)

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

    def columns_of(self, root: int) -> list[Column]:
        """The columns of a dataset, also those that only its readers name."""
        found = dict.fromkeys(self.outputs_of(root))
        for mapping in self._read_by({root}).values():
            for dataset, fed in mapping.fed_by.items():
                if self._roots[dataset] == root:
                    found.update(dict.fromkeys((root, field) for field in fed))
            whole = [g.field for g in mapping.dataset if self._roots[g.dataset] == root]
            found.update(dict.fromkeys((root, field) for field in whole))
        return [column for column in found if self._has(column)]

    def into(self, roots: Iterable[int]) -> None:
        """Take in every step into the columns of some datasets."""
        wanted = set(roots)
        self._written_by(wanted)
        self.upstream([column for root in sorted(wanted) for column in self.outputs_of(root)], 1)
