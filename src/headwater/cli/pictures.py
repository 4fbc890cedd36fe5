"""Graphs as the commands show them: where they start, what leads where, what each node is called.

A picture of jobs and datasets counts jobs as steps; one of columns counts columns.
"""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Raw
from rich.text import Text

from headwater.api.base import Name
from headwater.api.graph import (
    ColumnInput,
    ColumnNode,
    DatasetNode,
    JobNode,
    Transformation,
)
from headwater.cli.output import escaped, state_text
from headwater.openlineage.graph import Flow
from headwater.openlineage.names import FieldName

_LONGEST = 80  # characters of a description in a tree; --json has all of it
_STEPS = {
    "IDENTITY": ("=", "identity"),
    "TRANSFORMATION": ("ƒ", "transformation"),
    "AGGREGATION": ("Σ", "aggregation"),
    "DIRECT": ("ƒ", "direct"),
}


class Picture(Protocol):
    """A graph that can be drawn."""

    starts: list[str]
    flow: Flow
    raws: dict[str, Raw]

    def counts(self, node: str) -> bool:
        """Whether the node is a step of the depth."""

    def label(self, node: str) -> Text:
        """What a node is called."""

    def step(self, origin: str, destination: str) -> Text:
        """What happens between two nodes."""


class NodePicture:
    """Jobs and datasets around one of them."""

    def __init__(self, start: str, nodes: Mapping[str, tuple[DatasetNode | JobNode, Raw]]) -> None:
        self.starts = [start]
        self._nodes = {key: node for key, (node, _) in nodes.items()}
        self.raws = {key: raw for key, (_, raw) in nodes.items()}
        self.flow = Flow(
            (edge.origin, edge.destination)
            for node in self._nodes.values()
            for edge in (*node.in_edges, *node.out_edges)
            if edge.origin in nodes and edge.destination in nodes
        )

    def counts(self, node: str) -> bool:
        """Count jobs."""
        return isinstance(self._nodes.get(node), JobNode)

    def label(self, node: str) -> Text:
        """A job with its state, a dataset with its size."""
        if node not in self._nodes:
            return Text(escaped(node), style="bold")
        shown = self._nodes[node]
        if isinstance(shown, JobNode):
            data = shown.data
            words = [data.type.lower(), data.namespace]
            words += [f"under {data.parent_job_name}"] if data.parent_job_name else []
            state = state_text(data.latest_run.state if data.latest_run else None)
            return _line("job", data.name, state, *words)
        dataset = shown.data
        count = len(dataset.fields)
        words = [f"{count} column{'s' if count > 1 else ''}"] if count else []
        words += [dataset.last_lifecycle_state.lower()] if dataset.last_lifecycle_state else []
        return _line("dataset", dataset.name, None, dataset.namespace, *words)

    def step(self, origin: str, destination: str) -> Text:
        """Say nothing: a job reads or writes a dataset."""
        del origin, destination
        return Text()


class ColumnPicture:
    """Columns around some of them, with what happens on the way."""

    def __init__(
        self,
        starts: list[str],
        nodes: Mapping[str, tuple[ColumnNode, Raw]],
        *,
        formulas: bool = False,
    ) -> None:
        self.starts, self._formulas = starts, formulas
        self._nodes = {key: node for key, (node, _) in nodes.items()}
        self.raws = {key: raw for key, (_, raw) in nodes.items()}
        self._steps = {
            (_id(given), node.id): given
            for node in self._nodes.values()
            for given in node.data.input_fields
        }
        self.flow = Flow(self._steps)

    def counts(self, node: str) -> bool:
        """Count every column."""
        return bool(node)

    def label(self, node: str) -> Text:
        """A column with the dataset that has it."""
        if node not in self._nodes:
            return Text(escaped(node), style="bold")
        data = self._nodes[node].data
        words = [data.field_type.lower()] if data.field_type else []
        return _line("column", f"{data.dataset}.{data.field}", None, data.namespace, *words)

    def step(self, origin: str, destination: str) -> Text:
        """What happens, and by which job; on demand with the expression that does it."""
        given = self._steps[origin, destination]
        field = self._nodes[destination].data.field if self._formulas else None
        steps = [_step(one, field) for one in _steps_of(given)]
        told = Text(", ").join({step.plain: step for step in steps}.values())
        if given.job:
            told.append(f"{' · ' if told else ''}by {escaped(given.job.name)}", style="dim")
        return told


def starts_in_dataset(nodes: Mapping[str, tuple[ColumnNode, Raw]], dataset: Name) -> list[str]:
    """The columns of one dataset."""
    return sorted(
        key
        for key, (node, _) in nodes.items()
        if (node.data.namespace, node.data.dataset) == (dataset.namespace, dataset.name)
    )


def starts_of_job(nodes: Mapping[str, tuple[ColumnNode, Raw]], job: Name) -> list[str]:
    """The columns that one job writes."""
    return sorted(
        key
        for key, (node, _) in nodes.items()
        if any(given.job == job for given in node.data.input_fields)
    )


def _line(kind: str, name: str, state: Text | None, *words: str) -> Text:
    line = Text.assemble((f"{kind} ", "dim"), (escaped(name), "bold"), "  ")
    if state is not None:
        line.append_text(state).append(" · ", style="dim")
    return line.append(escaped(" · ".join(words)), style="dim")


def _id(given: ColumnInput) -> str:
    return str(FieldName(given.namespace, given.dataset, given.field))


def formulas_of(node: ColumnNode) -> list[str]:
    """The expressions that make the values of a column."""
    steps = [step for given in node.data.input_fields for step in _steps_of(given)]
    told = (_flat(step.description or "") for step in steps if step.type != "INDIRECT")
    return [*dict.fromkeys(text for text in told if text)]


def _steps_of(given: ColumnInput) -> list[Transformation]:
    if given.transformations:
        return given.transformations
    kind, text = given.transformation_type, given.transformation_description
    return [Transformation(None, kind, text or "", False)] if kind else []


def _step(one: Transformation, field: str | None) -> Text:
    """A step in words; with its formula where the field that it makes is given."""
    word = (one.subtype or one.type or "").upper()
    is_indirect = (one.type or "").upper() == "INDIRECT"
    sign, name = _STEPS.get(word, ("", word.lower().replace("_", " ")))
    if is_indirect:
        sign, name = "⇢", name if word != "INDIRECT" else "indirect"
    text = Text(f"{sign} {name}".strip(), style="magenta" if is_indirect else "blue")
    if one.masking:
        text.append(", masked")
    if one.description and field is not None:
        formula = _flat(one.description)
        text.append(f": {formula if is_indirect else f'{field} = {formula}'}", style="dim")
    return text


def _flat(text: str) -> str:
    return escaped(" ".join(text.split()))
