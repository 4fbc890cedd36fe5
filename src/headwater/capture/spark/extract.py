"""Turns one plan of the JVM into what an event says: inputs, outputs, columns, schemas."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from headwater.capture import facets
from headwater.capture.datasets import naming
from headwater.capture.datasets.naming import Dataset
from headwater.capture.datasets.registries import Registries
from headwater.capture.datasets.trimming import Trimmer, merge, trim
from headwater.capture.events import Event
from headwater.capture.plan import PlanLineage, analyze
from headwater.capture.plan.analysis import through_python
from headwater.capture.plan.formulas import bare
from headwater.capture.plan.lineage import Column, Edge
from headwater.capture.plan.nested import inside_of, is_record, record_of
from headwater.capture.plan.reader import Ids
from headwater.capture.plan.sources import Field
from headwater.capture.spark import loads
from headwater.capture.spark.catalogs import Catalogs
from headwater.capture.spark.handovers import Handovers
from headwater.capture.spark.jvm import Java, call, class_name
from headwater.capture.spark.leaves import Leaves, ids_of
from headwater.capture.spark.sinks import Sinks

_HOLDS_ROWS = frozenset({"LogicalRDD", "ExternalRDD", "LocalRelation"})
_MOST_HANDOVERS = 20  # of a chain, one after the other
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

    @property
    def output(self) -> Dataset | None:
        """The dataset that is written, or the first of them."""
        return next(iter(self.written), None)

    def inputs(self) -> list[Event]:
        """The input datasets of an event, each once."""
        found = merge(
            self._with_topic_fields(index, dataset)
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

    def _with_topic_fields(self, index: int, dataset: Dataset) -> Dataset:
        """A topic's fields are those of its record, as far as the query decodes it."""
        if dataset.symlinks or not dataset.namespace.startswith("kafka://"):
            return dataset
        source = self.lineage.sources[index]
        if not source.is_topic or dataset.fields != source.fields:
            return dataset
        edges = frozenset[Edge]().union(*(self.lineage.inputs(c) for _, c in self.lineage.columns))
        used = {e.origin.field for e in edges if e.origin.source == index}
        decoded = [Field(name, None) for name in sorted(used - {f.name for f in source.fields})]
        return Dataset(dataset.namespace, dataset.name, fields=tuple(decoded) or dataset.fields)


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


class Extractor:
    """Describes the queries of one session."""

    def __init__(
        self,
        session: Java,
        registries: Registries,
        trimmers: tuple[Trimmer, ...],
        handovers: Handovers,
    ) -> None:
        self._session, self._catalogs = session, Catalogs(session)
        self._registries, self._trimmers = registries, trimmers
        self._handovers = handovers
        self._leaves = Leaves(self._catalogs, registries)
        self._sinks = Sinks(self._catalogs, self._leaves)

    def stream(
        self, execution: Java, *, planned: bool, known: Described | None = None
    ) -> Described:
        """A streaming query; its sink is known once the query is `planned`.

        What is `known` of it already is not read again: a huge plan takes its time.
        """
        plan = execution.analyzedPlan()
        lineage = known.lineage if known is not None else analyze(str(plan.toJSON()))
        datasets = known.datasets if known is not None else self._inputs(plan, lineage)
        found = self._sinks.of_stream(execution, lineage.texts("topic")) if planned else ()
        return Described(lineage, datasets, self._written(found, plan, lineage))

    def batch(
        self, plan: Java, handed: Mapping[Ids, Described]
    ) -> tuple[Described, frozenset[Ids]]:
        """A batch write; the second part names the streaming queries it continues."""
        if class_name(plan) == loads.COMMAND:
            return self._load(plan), frozenset()
        described = self._read(plan, handed)
        lineage = described.lineage
        found = self._sinks.of_command(plan, lineage.texts("topic"))
        query = call(plan, "query") or call(plan, "target") or plan
        written = self._written(found, query, lineage)
        adopted = lineage.adopted & handed.keys()
        return Described(lineage, described.datasets, written), adopted

    def _load(self, plan: Java) -> Described:
        """Files that are loaded into a table as they are."""
        table = loads.table_of(self._session, plan)
        lineage = loads.lineage_of(table)
        files = msgspec.structs.replace(
            loads.files_of(self._session, plan), fields=lineage.sources[0].fields
        )
        written = msgspec.structs.replace(
            self._catalogs.v1(table), fields=lineage.sources[0].fields
        )
        return Described(lineage, {0: trim([files], self._trimmers)}, (written,))

    def rdd(self, rdd: Java, place: str) -> Described:
        """A write of an RDD's records into files."""
        plans, files = list[Described](), list[Dataset]()
        for plan, places in self._handovers.ancestors(rdd):
            plans += [self._read(plan, {})] if plan is not None else []
            files += map(naming.location, places)
        behind = _together(plans, ())
        datasets = {**behind.datasets, len(behind.lineage.sources): trim(files, self._trimmers)}
        written = trim([naming.location(place)], self._trimmers)
        return Described(behind.lineage, datasets, written)

    def _read(self, plan: Java, handed: Mapping[Ids, Described], depth: int = 0) -> Described:
        """A plan with what its rows were before they were handed over."""
        known = {**self._handed_over(plan, depth), **handed}
        lineages = {ids: described.lineage for ids, described in known.items()}
        lineage = analyze(str(plan.toJSON()), lineages)
        datasets = self._inputs(plan, lineage, versions=True)
        for ids in lineage.adopted:
            datasets |= _adopted(known[ids], lineage)
        return Described(lineage, datasets)

    def _handed_over(self, plan: Java, depth: int) -> dict[Ids, Described]:
        """What is behind the leaves of a plan whose rows came from another plan."""
        found: dict[Ids, Described] = {}
        if depth > _MOST_HANDOVERS:
            return found
        for leaf in self._leaves.all(plan):
            if class_name(leaf) not in _HOLDS_ROWS:
                continue
            same = self._handovers.unchanged(leaf)
            if same is not None:
                found[ids_of(leaf)] = self._read(same, {}, depth + 1)
                continue
            plans = self._handovers.through_python(leaf)
            if plans:
                behind = [self._read(one, {}, depth + 1) for one in plans]
                names = map(str, leaf.schema().fieldNames())
                output = tuple(zip(ids_of(leaf), names, strict=True))
                found[ids_of(leaf)] = _together(behind, output)
        return found

    def table(self, plan: Java) -> Java | None:
        """The table that a batch write is into, where a catalog plugin has it."""
        return self._sinks.table(plan)

    def refreshed(self, described: Described) -> Described:
        """The same query with the schemas that its topics have in the registry by now."""
        datasets = {
            index: tuple(map(self._registered, found))
            for index, found in described.datasets.items()
        }
        written = tuple(map(self._registered, described.written))
        return Described(described.lineage, datasets, written)

    def _inputs(
        self, plan: Java, lineage: PlanLineage, *, versions: bool = False
    ) -> dict[int, tuple[Dataset, ...]]:
        found = self._leaves.datasets(plan, lineage.sources, versions=versions)
        return {
            index: tuple(map(self._registered, trim(datasets, self._trimmers)))
            for index, datasets in found.items()
        }

    def _written(
        self, found: tuple[Dataset, ...], plan: Java, lineage: PlanLineage
    ) -> tuple[Dataset, ...]:
        return tuple(
            self._registered(_with_schema(one, plan, lineage))
            for one in trim(found, self._trimmers)
        )

    def _registered(self, dataset: Dataset) -> Dataset:
        """A topic with the schema that the registry has for it."""
        if not dataset.namespace.startswith("kafka://"):
            return dataset
        fields = self._registries.fields(dataset)
        return Dataset(dataset.namespace, dataset.name, fields=fields or dataset.fields)


def _together(plans: list[Described], output: tuple[tuple[int, str], ...]) -> Described:
    """Several plans whose rows passed through Python."""
    lineage = through_python((plan.lineage for plan in plans), output)
    datasets: dict[int, tuple[Dataset, ...]] = {}
    for plan in plans:
        datasets |= _adopted(plan, lineage)
    return Described(lineage, datasets)


def _adopted(described: Described, lineage: PlanLineage) -> dict[int, tuple[Dataset, ...]]:
    sources = list(lineage.sources)
    return {
        sources.index(described.lineage.sources[index]): datasets
        for index, datasets in described.datasets.items()
    }


def _with_schema(output: Dataset, plan: Java, lineage: PlanLineage) -> Dataset:
    """The dataset with the schema that it is written with."""
    if output.namespace.startswith("kafka://"):
        fields = tuple(Field(name, None) for name, _ in record_columns(lineage.columns))
    else:
        names = {name for name, _ in lineage.columns if not name.startswith(INTERNAL)}
        listed = json.loads(str(plan.schema().json()))["fields"]
        fields = tuple(Field(f["name"], f["type"]) for f in listed if f["name"] in names)
    return msgspec.structs.replace(output, fields=fields)
