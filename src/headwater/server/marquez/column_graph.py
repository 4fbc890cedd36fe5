"""Turns a walk over columns into Marquez's column lineage graph."""

from headwater.api.base import Name
from headwater.api.graph import ColumnData, ColumnGraph, ColumnInput, ColumnNode, Edge
from headwater.openlineage.names import FieldName
from headwater.server.lineage.columns import Column, ColumnWalk, Step
from headwater.server.lineage.jobs import job_names
from headwater.server.lineage.run_io import versions_at
from headwater.server.lineage.transformations import step_type, told_steps, told_type
from headwater.server.lineage.view import StoreView, uuid_text


def column_graph(
    view: StoreView, walk: ColumnWalk, *, is_versioned: bool = False, is_detailed: bool = False
) -> ColumnGraph:
    """The columns of a walk as a graph; columns that nothing leads to or from are left out."""
    return _Writer(view, walk, is_versioned, is_detailed).graph()


class _Writer:
    def __init__(
        self, view: StoreView, walk: ColumnWalk, is_versioned: bool, is_detailed: bool
    ) -> None:
        self._walk, self._is_detailed = walk, is_detailed
        linked = {column for pair in walk.steps for column in pair}
        roots = {column[0] for column in linked}
        self._names = view.names.of(roots)
        versions = versions_at(view, roots, view.at)
        self._versions = {r: uuid_text(versions[r]) if r in versions else None for r in roots}
        self._ids = {column: self._id(column, is_versioned) for column in linked}
        job_ids = {step.job for steps in walk.steps.values() for step in steps}
        names = job_names(view, job_ids) if is_detailed else {}
        self._jobs = {number: Name(*name) for number, name in names.items()}
        self._into: dict[Column, list[Column]] = {}
        self._out: dict[Column, list[Column]] = {}
        for to, origin in walk.steps:
            self._into.setdefault(to, []).append(origin)
            self._out.setdefault(origin, []).append(to)

    def graph(self) -> ColumnGraph:
        nodes = [self._node(column, node_id) for column, node_id in self._ids.items()]
        return ColumnGraph(sorted(nodes, key=lambda node: node.id))

    def _id(self, column: Column, is_versioned: bool) -> str:
        text = str(FieldName(*self._names[column[0]], column[1]))
        version = self._versions[column[0]]
        return f"{text}#{version}" if is_versioned and version else text

    def _node(self, column: Column, node_id: str) -> ColumnNode:
        ids = self._ids
        origins = sorted(self._into.get(column, ()), key=ids.__getitem__)
        schema = self._walk.schema(column[0])
        inputs = [self._input(column, origin) for origin in origins]
        told = inputs[0] if inputs else None
        data = ColumnData(
            *self._names[column[0]], column[1], self._versions[column[0]],
            schema.types.get(column[1], "") if schema and inputs else "",
            told.transformation_description if told else None,
            told.transformation_type if told else None, [*inputs],
        )  # fmt: skip
        return ColumnNode(
            node_id, data,
            [Edge(node_id, ids[origin]) for origin in origins],
            [Edge(node_id, to) for to in sorted(ids[to] for to in self._out.get(column, ()))],
        )  # fmt: skip

    def _input(self, column: Column, origin: Column) -> ColumnInput:
        steps = self._walk.steps[column, origin]
        if len(steps) > 1:
            steps = sorted(steps, key=self._precedence)
        step = steps[0]
        text, kind = told_type(step.output, step.given) if step.output else step_type(step.given)
        base = (*self._names[origin[0]], origin[1], text, kind, self._versions[origin[0]])
        if not self._is_detailed:
            return ColumnInput(*base)
        told = told_steps(s.given for s in steps)
        return ColumnInput(*base, told, self._jobs.get(step.job))

    def _precedence(self, step: Step) -> tuple[bool, str, str]:
        """What tells steps between two columns apart, whichever was stored first."""
        job = self._jobs.get(step.job)
        output = step.output and (step.output.description, step.output.type)
        told = repr((output, step.given.steps))
        return step.output is None, told, f"{job.namespace}:{job.name}" if job else ""
