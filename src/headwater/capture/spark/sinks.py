"""Names what is written: by a batch command at the root of a plan, or by a stream's sink."""

import re

from headwater.capture.datasets import naming
from headwater.capture.datasets.naming import Dataset
from headwater.capture.spark.catalogs import Catalogs
from headwater.capture.spark.jvm import Java, call, class_name, option, string_map
from headwater.capture.spark.leaves import Leaves, table_name

# Options of a writer that name its dataset; the physical place is then another name of it.
_OWN_NAMESPACE, _OWN_NAME = "headwater.dataset.namespace", "headwater.dataset.name"
_PATH_SINK = re.compile(r"^(?:FileSink|DeltaSink)\[(.*)\]$")


class Sinks:
    """Finds the datasets that commands and streams write."""

    def __init__(self, catalogs: Catalogs, leaves: Leaves) -> None:
        self._catalogs, self._leaves = catalogs, leaves

    def of_command(self, plan: Java, topics: tuple[str, ...] = ()) -> tuple[Dataset, ...]:
        """The datasets that a batch command writes; `topics` are those its rows name."""
        if class_name(plan) == "SaveIntoDataSourceCommand":
            return _from_options(string_map(plan.options()), topics)
        return _some(self._of_command(plan))

    def _of_command(self, plan: Java) -> Dataset | None:
        kind = class_name(plan)
        if kind in _V2_WRITES:
            return self._relation(plan.table())
        if kind in ("DeleteFromTable", "UpdateTable"):
            return self._relation(plan.table())
        if kind == "MergeIntoTable":
            return self._relation(plan.targetTable())
        if kind in ("DeleteCommand", "UpdateCommand", "MergeIntoCommand"):
            return self._relation(plan.target())
        if kind == "InsertIntoHadoopFsRelationCommand":
            table = option(plan.catalogTable())
            place = str(plan.outputPath().toString())
            return self._catalogs.v1(table) if table is not None else naming.location(place)
        if kind in ("CreateTableAsSelect", "ReplaceTableAsSelect"):
            return self._created(plan)
        table = call(plan, "table") or call(plan, "tableDesc")
        if table is not None and class_name(table) == "CatalogTable":
            return self._catalogs.v1(table)
        return None

    def of_stream(self, execution: Java, topics: tuple[str, ...] = ()) -> tuple[Dataset, ...]:
        """The datasets that a streaming query writes; none for foreachBatch, console, memory."""
        found = self._of_stream(execution, topics)
        options = string_map(call(execution.logicalPlan(), "writeOptions"))
        namespace, name = options.get(_OWN_NAMESPACE), options.get(_OWN_NAME)
        if len(found) != 1 or not (namespace or name):
            return found
        return (naming.renamed(found[0], namespace, name),)

    def _of_stream(self, execution: Java, topics: tuple[str, ...]) -> tuple[Dataset, ...]:
        sink = execution.sink()
        write = execution.logicalPlan()
        match = _PATH_SINK.match(str(sink.toString()))
        if match:
            table = option(call(write, "catalogTable"))
            return (naming.location(match[1]) if table is None else self._catalogs.v1(table),)
        options = string_map(call(write, "writeOptions"))
        if class_name(sink) in ("KafkaTable", "KafkaSink") or "kafka.bootstrap.servers" in options:
            found = _from_options(options, topics)
            self._leaves.registries.note(options, found)
            return found
        relation = option(call(write, "relation"))
        if relation is not None:
            return _some(self._relation(relation))
        place = self._catalogs.place(sink)
        return _some(naming.location(place) if place else None)

    def _relation(self, relation: Java) -> Dataset | None:
        return next(iter(self._leaves.of(_unaliased(relation))), None)

    def _created(self, plan: Java) -> Dataset | None:
        """A table made from a query: it is there by the time the command has succeeded."""
        name = call(plan, "name")
        catalog, identifier = call(name, "catalog"), call(name, "identifier")
        if catalog is None or identifier is None:
            return None
        table = catalog.loadTable(identifier)
        return self._catalogs.v2(table, str(catalog.name()), table_name(identifier))


_V2_WRITES = frozenset(
    {
        "AppendData",
        "OverwriteByExpression",
        "OverwritePartitionsDynamic",
        "ReplaceData",
        "WriteDelta",
    }
)


def _unaliased(relation: Java) -> Java:
    while class_name(relation) == "SubqueryAlias":
        relation = relation.child()
    return relation


def _from_options(options: dict[str, str], topics: tuple[str, ...]) -> tuple[Dataset, ...]:
    """Sinks that options name, Kafka, JDBC or a path; the option `topic` comes before rows."""
    if "kafka.bootstrap.servers" in options:
        names = (options["topic"],) if options.get("topic") else topics
        return tuple(naming.topic(options["kafka.bootstrap.servers"], name) for name in names)
    if "url" in options and "dbtable" in options:
        return (naming.jdbc(options["url"], options["dbtable"]),)
    return _some(naming.location(options["path"]) if "path" in options else None)


def _some(dataset: Dataset | None) -> tuple[Dataset, ...]:
    return () if dataset is None else (dataset,)
