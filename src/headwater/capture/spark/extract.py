"""Turns one plan of the JVM into what an event says: inputs, outputs, columns, schemas."""

import json
from collections.abc import Callable, Mapping

import msgspec

from headwater.capture.datasets import naming
from headwater.capture.datasets.naming import PART, Dataset, Version
from headwater.capture.datasets.registries import Registries
from headwater.capture.datasets.trimming import Trimmer, trim
from headwater.capture.plan import PlanLineage, analyze
from headwater.capture.plan.reader import Ids
from headwater.capture.plan.sources import Field
from headwater.capture.spark import behind, loads
from headwater.capture.spark.behind import Behind
from headwater.capture.spark.catalogs import Catalogs
from headwater.capture.spark.described import INTERNAL, Described, record_columns
from headwater.capture.spark.executions import planned_at
from headwater.capture.spark.handovers import Handovers, Rows
from headwater.capture.spark.jvm import Java, call, class_name
from headwater.capture.spark.leaves import Leaves, VersionOf, ids_of
from headwater.capture.spark.plans import PlanWriter
from headwater.capture.spark.sinks import Sinks
from headwater.capture.spark.versions import version_of

# The queries whose micro-batch a session may read, by the ids of their output.
HandingOver = Callable[[Java], Mapping[Ids, Described]]


class Extractor:
    """Describes the queries of one session."""

    def __init__(
        self,
        session: Java,
        registries: Registries,
        trimmers: tuple[Trimmer, ...],
        handovers: Handovers,
        handing_over: HandingOver,
        writer: PlanWriter,
    ) -> None:
        self._session, self._catalogs = session, Catalogs(session)
        self._registries, self._trimmers = registries, trimmers
        self._handovers, self._handing_over = handovers, handing_over
        self._writer = writer
        self._leaves = Leaves(self._catalogs, registries)
        self._behind = Behind(handovers, self._leaves, trimmers)
        self._sinks = Sinks(self._catalogs, self._leaves)

    def stream(
        self, execution: Java, *, planned: bool, known: Described | None = None
    ) -> Described:
        """A streaming query; its sink is known once the query is `planned`.

        What is `known` of it already is not read again: a huge plan takes its time.
        """
        plan = execution.analyzedPlan()
        known = known or self._read(plan, {}, None)
        lineage = known.lineage
        found = self._sinks.of_stream(execution, lineage.texts("topic")) if planned else ()
        return Described(lineage, known.datasets, self._written(found, plan, lineage))

    def batch(self, plan: Java, session: Java, execution: Java) -> Described:
        """A batch write of a session."""
        if class_name(plan) == loads.COMMAND:
            return self._load(plan)
        self.settle()
        versions = self._versions(execution)
        described = self._read(plan, self._handing_over(session), versions)
        lineage = described.lineage
        found = self._sinks.of_command(plan, lineage.texts("topic"))
        query = call(plan, "query") or call(plan, "target") or plan
        return msgspec.structs.replace(described, written=self._written(found, query, lineage))

    def _versions(self, execution: Java) -> VersionOf:
        """Tells which state of its dataset a leaf reads.

        Spark loads tables anew when a plan runs that was analyzed before. Where rows are cached,
        it is not known of which state they are.
        """
        planned = call(execution, "withCachedData")
        if planned is None:
            return version_of
        begun = planned_at(execution)
        leaves = {
            ids_of(leaf): leaf
            for leaf in self._leaves.all(planned)
            if class_name(leaf) != "InMemoryRelation"
        }

        def version(leaf: Java) -> Version | None:
            read = leaves.get(ids_of(leaf))
            return PART if read is None else version_of(read, begun)

        return version

    def settle(self) -> None:
        """Find out what is behind the rows that have left plans by now."""
        self._handovers.resolve(self._resolve)

    def _load(self, plan: Java) -> Described:
        """Files that are loaded into a table as they are."""
        table = loads.table_of(self._session, plan)
        lineage = loads.lineage_of(table)
        files = msgspec.structs.replace(
            self._catalogs.files(str(plan.path()), is_local=bool(plan.isLocal())),
            fields=lineage.sources[0].fields,
        )
        written = msgspec.structs.replace(
            self._catalogs.v1(table), fields=lineage.sources[0].fields
        )
        return Described(lineage, {0: trim([files], self._trimmers)}, (written,))

    def rdd(self, rdd: Java, place: str) -> Described:
        """A write of an RDD's records into files."""
        self.settle()
        return msgspec.structs.replace(self._behind.rdd(rdd), written=(self.files_at(place),))

    def files_at(self, place: str) -> Dataset:
        """The dataset that files at a place are part of."""
        return trim([naming.location(place)], self._trimmers)[0]

    def _resolve(self, rows: Rows) -> Described:
        versions = self._versions(rows.execution)
        described = self._read(rows.plan, self._handing_over(rows.session), versions)
        return behind.reduced(described)

    def _read(
        self, plan: Java, handed: Mapping[Ids, Described], versions: VersionOf | None
    ) -> Described:
        """A plan with what its rows were before they were handed over."""
        known = self._behind.leaves(plan, handed)
        lineages = {ids: described.lineage for ids, described in known.items()}
        lineage = analyze(self._writer.json(plan), lineages)
        datasets = self._inputs(plan, lineage, versions)
        adopted = [known[ids] for ids in lineage.adopted]
        for one in adopted:
            datasets |= behind.datasets_in(one, lineage)
        runs = frozenset[str]().union(*(one.runs for one in adopted))
        return Described(lineage, datasets, runs=runs)

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
        self, plan: Java, lineage: PlanLineage, versions: VersionOf | None
    ) -> dict[int, tuple[Dataset, ...]]:
        found = self._leaves.datasets(plan, lineage.sources, versions)
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


def _with_schema(output: Dataset, plan: Java, lineage: PlanLineage) -> Dataset:
    """The dataset with the schema that it is written with."""
    if output.namespace.startswith("kafka://"):
        fields = tuple(Field(name, None) for name, _ in record_columns(lineage.columns))
    else:
        names = {name for name, _ in lineage.columns if not name.startswith(INTERNAL)}
        listed = json.loads(str(plan.schema().json()))["fields"]
        fields = tuple(Field(f["name"], f["type"]) for f in listed if f["name"] in names)
    return msgspec.structs.replace(output, fields=fields)
