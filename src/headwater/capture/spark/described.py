"""What is known of one query: its lineage, and the datasets at both ends of it."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from headwater.capture import facets
from headwater.capture.datasets.naming import Dataset
from headwater.capture.datasets.trimming import merge
from headwater.capture.events import Event
from headwater.capture.plan import PlanLineage
from headwater.capture.plan.formulas import bare
from headwater.capture.plan.lineage import Column, Edge
from headwater.capture.plan.nested import inside_of, is_record, record_of

# Values inside the columns of one output that its lineage lists by themselves.
_MOST_NESTED = 1_000
# Columns that address a record on its way into Kafka and are no part of it.
_ENVELOPE = frozenset({"topic", "partition", "headers"})

# Columns of a write that say where rows go, and are in none of its objects.
INTERNAL = "_headwater_"


class Described(Struct, frozen=True):
    """What is known of one query: its lineage, and the datasets at both ends."""

    lineage: PlanLineage
    datasets: Mapping[int, tuple[Dataset, ...]]
    written: tuple[Dataset, ...] = ()
    runs: frozenset[str] = frozenset()  # the runs of the streams whose micro-batches it reads

    @property
    def output(self) -> Dataset | None:
        """The dataset that is written, or the first of them."""
        return next(iter(self.written), None)

    def inputs(self) -> list[Event]:
        """The input datasets of an event, each once."""
        found = merge(
            self._without_decoded(index, dataset)
            for index, datasets in sorted(self.datasets.items())
            for dataset in datasets
        )
        return [facets.input_json(dataset) for dataset in found]

    def outputs(self) -> list[Event]:
        """The output datasets of an event, with their column lineage."""
        if not self.written:
            return []
        known = self.lineage
        columns = [
            facets.OutputColumn(name, known.inputs(c), bare(c.formula), is_nested)
            for name, c, is_nested in self._with_nested()
        ]
        lineage = facets.column_lineage(
            columns, known.relation.rows, self.datasets, known.conditions
        )
        return [facets.output_json(one, columnLineage=lineage) for one in self.written]

    def columns(self) -> list[tuple[str, Column]]:
        """The output's columns; a topic's are the fields of the record that is written."""
        if self.output is None or not self.output.namespace.startswith("kafka://"):
            return [(name, c) for name, c in self.lineage.columns if not name.startswith(INTERNAL)]
        return list(record_columns(self.lineage.columns))

    def _with_nested(self) -> Iterator[tuple[str, Column, bool]]:
        """The output's columns, each with the values inside it, as far as these are few."""
        fields = self.output.fields if self.output is not None else ()
        types = {field.name: field.type for field in fields}
        count = 0
        for name, column in self.columns():
            yield name, column, False
            inside = list(islice(inside_of(column, name, types.get(name)), _MOST_NESTED + 1))
            count += len(inside)
            if count <= _MOST_NESTED:
                yield from ((path, value, True) for path, value in inside)

    def notes(self) -> dict[str, Any]:
        """The run facets that tell what could not be seen into and is over-stated; may be none."""
        notes = self.lineage.notes()
        if not notes:
            return {}
        listed = [
            {"kind": note.kind, "name": note.name, "columns": list(columns)}
            for note, columns in notes.items()
        ]
        return {"headwater_capture": facets.own_facet("capture", notes=listed)}

    def _without_decoded(self, index: int, dataset: Dataset) -> Dataset:
        """A topic whose record the query decodes has no schema but the registry's.

        The query knows only the fields that it uses; another one uses others.
        """
        if dataset.symlinks or not dataset.namespace.startswith("kafka://"):
            return dataset
        source = self.lineage.sources[index]
        if not source.is_topic or dataset.fields != source.fields:
            return dataset
        edges = frozenset[Edge]().union(*(self.lineage.inputs(c) for _, c in self.lineage.columns))
        used = {e.origin.field for e in edges if e.origin.source == index}
        is_decoded = used - {field.name for field in source.fields}
        return msgspec.structs.replace(dataset, fields=()) if is_decoded else dataset


def record_columns(columns: Iterable[tuple[str, Column]]) -> Iterable[tuple[str, Column]]:
    """The fields of a record on its way into a topic."""
    for name, column in columns:
        if name in _ENVELOPE:
            continue
        record = record_of(column)
        if not is_record(record):
            yield name, column
            continue
        prefix = "key." if name == "key" else ""
        for field in record.fields or ():
            yield f"{prefix}{field}", record.field(field)
