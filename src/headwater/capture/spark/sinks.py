"""Names what is written: by a batch command at the root of a plan, or by a stream's sink."""

import re
from collections.abc import Mapping

from headwater.capture.datasets import naming
from headwater.capture.datasets.naming import Dataset
from headwater.capture.spark.catalogs import Catalogs
from headwater.capture.spark.jvm import Java, attempt, call, class_name, option, string_map
from headwater.capture.spark.leaves import Leaves, table_name
from headwater.capture.spark.nodes import makes_files

# Options of a writer that name its dataset; the physical place is then another name of it.
_OWN_NAMESPACE, _OWN_NAME = "headwater.dataset.namespace", "headwater.dataset.name"
# The place where files end up that a job moves there after it has written them.
_OWN_LOCATION = "headwater.dataset.location"
_PATH_SINK = re.compile(r"^(?:FileSink|DeltaSink)\[(.*)\]$")


class Sinks:
    """Finds the datasets that commands and streams write."""

    def __init__(self, catalogs: Catalogs, leaves: Leaves) -> None:
        self._catalogs, self._leaves = catalogs, leaves

    def of_command(self, plan: Java, topics: tuple[str, ...] = ()) -> tuple[Dataset, ...]:
        """The datasets that a batch command writes; `topics` are those its rows name."""
        if class_name(plan) == "SaveIntoDataSourceCommand":
            return naming.from_options(string_map(plan.options()), topics)
        return _some(self._of_command(plan))

    def _of_command(self, plan: Java) -> Dataset | None:
        kind = class_name(plan)
        if kind in _TARGETS:
            return self._relation(call(plan, _TARGETS[kind]))
        if kind == "InsertIntoHadoopFsRelationCommand":
            table = option(plan.catalogTable())
            return self._catalogs.v1(table) if table is not None else _written_to(plan)
        if kind in _CREATES:
            return self._created(plan)
        if kind == "InsertIntoHiveDirCommand":
            place = option(plan.storage().locationUri())
            is_local = bool(plan.isLocal())
            return place and self._catalogs.files(str(place.toString()), is_local=is_local)
        table = call(plan, "table") or call(plan, "tableDesc")
        if table is not None and class_name(table) == "CatalogTable":
            found = self._catalogs.v1(table)
            # By its place, as the command names it that writes the files.
            is_place = makes_files(plan) and not self._catalogs.has(table)
            return Dataset(*found.key) if is_place else found
        return None

    def table(self, plan: Java) -> Java | None:
        """The table of a catalog plugin that a batch command writes, as Spark holds it."""
        kind = class_name(plan)
        if kind in _CREATES:
            return _loaded(call(plan, "name"))
        target = call(plan, _TARGETS[kind]) if kind in _TARGETS else None
        return call(_unaliased(target), "table") if target is not None else None

    def of_stream(self, execution: Java, topics: tuple[str, ...] = ()) -> tuple[Dataset, ...]:
        """The datasets that a streaming query writes; none for foreachBatch, console, memory."""
        found = self._of_stream(execution, topics)
        options = string_map(call(execution, "logicalPlan", "writeOptions"))
        return (_as_named(found[0], options),) if len(found) == 1 else found

    def _of_stream(self, execution: Java, topics: tuple[str, ...]) -> tuple[Dataset, ...]:
        sink = execution.sink()
        write = call(execution, "logicalPlan")  # none, if the query failed before it had one
        match = _PATH_SINK.match(str(sink.toString()))
        if match:
            table = option(call(write, "catalogTable"))
            return (naming.location(match[1]) if table is None else self._catalogs.v1(table),)
        options = string_map(call(write, "writeOptions"))
        if class_name(sink) in ("KafkaTable", "KafkaSink") or "kafka.bootstrap.servers" in options:
            found = naming.from_options(options, topics)
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
        name: Java = call(plan, "name")
        if call(name, "catalog") is None or call(name, "identifier") is None:
            return None
        return self._catalogs.v2(
            _loaded(name), str(name.catalog().name()), table_name(name.identifier())
        )


def _written_to(plan: Java) -> Dataset:
    """The place that files are written to, or that they go to from there."""
    options = string_map(plan.options())
    place = options.get(_OWN_LOCATION) or str(plan.outputPath().toString())
    return _as_named(naming.location(place), options)


def _as_named(dataset: Dataset, options: Mapping[str, str]) -> Dataset:
    namespace, name = options.get(_OWN_NAMESPACE), options.get(_OWN_NAME)
    return naming.renamed(dataset, namespace, name) if namespace or name else dataset


# Commands on a table that is there, by what they call it.
_TARGETS = {
    "AppendData": "table",
    "OverwriteByExpression": "table",
    "OverwritePartitionsDynamic": "table",
    "ReplaceData": "table",
    "WriteDelta": "table",
    "DeleteFromTable": "table",
    "UpdateTable": "table",
    "MergeIntoTable": "targetTable",
    "DeleteCommand": "target",
    "UpdateCommand": "target",
    "MergeIntoCommand": "target",
}
_CREATES = ("CreateTableAsSelect", "ReplaceTableAsSelect")


def _loaded(name: Java | None) -> Java | None:
    return attempt(call(name, "catalog"), "loadTable", call(name, "identifier"))


def _unaliased(relation: Java) -> Java:
    while class_name(relation) == "SubqueryAlias":
        relation = relation.child()
    return relation


def _some(dataset: Dataset | None) -> tuple[Dataset, ...]:
    return () if dataset is None else (dataset,)
