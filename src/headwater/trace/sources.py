"""What a plan reads: records of topics, and tables at the snapshots that one write has read."""

import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from headwater.capture.datasets.naming import location
from headwater.dryrun.conversions import frame_of
from headwater.openlineage.names import DatasetName
from headwater.pipeline import sql
from headwater.trace import catalyst
from headwater.trace.catalyst import Plan
from headwater.trace.columns import metadata_columns, widened, with_columns_of
from headwater.trace.derivation import Source
from headwater.trace.iceberg import IcebergTable

PLACE = ("topic", "partition", "offset")
_ROW = ("_file", "_pos")
_CONSTANT = frozenset({"LocalRelation", "OneRowRelation", "Range", "CTERelationRef"})
_MAIN = "main"
# Options of a read that change how rows are read, and not which.
_HARMLESS = frozenset({
    "split-size", "lookback", "file-open-cost", "vectorization-enabled", "batch-size", "locality",
    "aggregate-push-down-enabled", "path",
})  # fmt: skip
_OF_STATE = frozenset({"snapshot-id", "as-of-timestamp", "versionasof", "timestampasof"})
_SELECTOR = re.compile("(snapshot_id|at_timestamp|tag|branch)_")
_AS_NOW = "a topic is read in a batch: which offsets it had then is not known"
_STATES = "{} is read in several states, and the run reports one"
_TYPES = "columns of {} have other types since"


class Sources:
    """Finds the sources of one plan."""

    def __init__(
        self, spark: SparkSession, versions: Mapping[str, str | None], plan: Plan,
        *, bounded: set[int], constants: frozenset[int],
    ) -> None:  # fmt: skip
        """Take a plan; `versions` are the snapshots that were read, by the ids of the tables.

        `bounded` are relations of Kafka with what was read, and `constants` the ids of RDDs whose
        rows the application itself holds.
        """
        self.tables: dict[str, IcebergTable] = {}
        self.doubts: dict[str, None] = {}
        self.missing: dict[str, None] = {}
        self._spark, self._versions, self._plan = spark, versions, catalyst.inlined(spark, plan)
        self._bounded, self._constants = bounded, constants
        self._leaves = [leaf for leaf in catalyst.walk(self._plan) if _is_iceberg(leaf)]

    def source(self, leaf: Plan) -> Source | None:
        """The source that a leaf of the plan reads, if its rows can be followed."""
        if reads_kafka(leaf):
            relation = relation_of(self._spark, leaf)
            if relation not in self._bounded:
                self.doubts[_AS_NOW] = None
            return Source(f"kafka {relation}", frame_of(self._spark, leaf), PLACE)
        if _is_iceberg(leaf):
            return self._table(leaf)
        if not self._is_constant(leaf):
            self.missing[str(leaf.simpleStringWithNodeId()).split("[")[0].strip()] = None
        return None

    def _is_constant(self, leaf: Plan) -> bool:
        kind = catalyst.kind(leaf)
        is_held = kind == "LogicalRDD" and int(leaf.rdd().id()) in self._constants
        return kind in _CONSTANT or is_held

    def _table(self, leaf: Plan) -> Source | None:
        name, node = _name(leaf), node_of(leaf)
        version = self._versions.get(node)
        if version is None:
            self.missing[f"{name} (which snapshot was read is not reported)"] = None
            return None
        if reason := _other_state(leaf, version):
            self.missing[f"{name} ({reason})"] = None
            return None
        read = IcebergTable(self._spark, name, version)
        if read.snapshot(version) is None:
            self.missing[f"{name} (the snapshot that was read has expired)"] = None
            return None
        own = [other for other in self._leaves if node_of(other) == node]
        if len({_snapshot(other) for other in own}) > 1:
            self.doubts[_STATES.format(name)] = None
        self.tables[name] = read
        return Source(name, self._rows(read, leaf, own, version), _ROW)

    def _rows(self, read: IcebergTable, leaf: Plan, own: list[Plan], version: str) -> Any:
        """The rows of a table with what its leaves read of them."""
        known = read.frame("_pos").columns
        more = {name for other in own for name in metadata_columns(other)}
        frame = read.frame("_pos", *sorted(more - {*known}))
        # The leaves of the plan here: those of another copy of it have other expression ids.
        changed = (column for other in own for column in widened(frame, other))
        if any(catalyst.uses(self._plan, column) for column in changed):
            self.doubts[_TYPES.format(read.name)] = None
        return with_columns_of(frame, leaf, version)


def reads_kafka(leaf: Plan) -> bool:
    """Whether a leaf is a bounded read of a topic."""
    is_relation = catalyst.kind(leaf) == "LogicalRelation"
    return is_relation and catalyst.kind(leaf.relation()) == "KafkaRelation"


def relation_of(spark: SparkSession, leaf: Plan) -> int:
    """What tells the relations of leaves apart."""
    system = spark._jvm.java.lang.System  # type: ignore[union-attr]
    return int(system.identityHashCode(leaf.relation()))


def node_of(leaf: Plan) -> str:
    """The id in lineage of the table of Iceberg that a leaf reads, or that is written."""
    return str(DatasetName(*location(str(leaf.table().table().location())).key))


def _is_iceberg(leaf: Plan) -> bool:
    is_relation = catalyst.kind(leaf) == "DataSourceV2Relation"
    return is_relation and catalyst.kind(leaf.table()) == "SparkTable"


def _name(leaf: Plan) -> str:
    identifier, catalog = leaf.identifier().get(), leaf.catalog().get()
    return sql.quoted([str(catalog.name()), *identifier.namespace(), str(identifier.name())])


def _snapshot(leaf: Plan) -> str | None:
    """The snapshot that a leaf names; None if it reads the table as it is."""
    is_named = (
        leaf.timeTravelSpec().isDefined()
        or bool(_OF_STATE & _options(leaf))
        or _SELECTOR.match(str(leaf.identifier().get().name())) is not None
    )
    return str(leaf.table().snapshotId()) if is_named else None


def _options(leaf: Plan) -> set[str]:
    return {str(name).lower() for name in leaf.options().asCaseSensitiveMap()}


def _other_state(leaf: Plan, version: str) -> str | None:
    """Why a leaf may not read all of the snapshot that the run reported, and nothing else."""
    branch, named = leaf.table().branch(), _snapshot(leaf)
    if branch is not None and str(branch) != _MAIN:
        return f"the branch {branch} is read"
    if others := sorted(_options(leaf) - _HARMLESS - _OF_STATE):
        return f"it is read with the options {', '.join(others)}"
    if named is not None and named != version:
        return f"it is read at the snapshot {named}, and the run reports {version}"
    return None
