"""Names the leaves of a plan: which datasets each one reads."""

import json
import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from headwater.capture.datasets import naming
from headwater.capture.datasets.naming import PART, Dataset, Version
from headwater.capture.datasets.registries import Registries
from headwater.capture.plan.sources import Field, Source
from headwater.capture.spark.catalogs import Catalogs
from headwater.capture.spark.jvm import (
    Java,
    call,
    class_name,
    option,
    private_field,
    seq,
    string_map,
)
from headwater.capture.spark.metadata_tables import behind_metadata

VersionOf = Callable[[Java], Version | None]

_NO_DATASET = frozenset({"rate", "rate-micro-batch", "socket", "memory", "console", "noop"})


# What Iceberg appends to a table's name to select a state of it.
_SELECTORS = ("branch_", "tag_", "snapshot_id_", "at_timestamp_")
# The plans inside a command.
_USUAL = ("query", "sourceTable", "targetTable", "source", "target")
# It changes some rows of its table, and all others stay: it reads the table.
_INNER = {"WriteDelta": ("query", "table")}
# What marks a column of Spark's own in a schema.
_HIDDEN = "__metadata_col"
_ID = re.compile(r"#(\d+)\D*$")


class Leaves:
    """Finds the JVM's leaves of plans, and the datasets behind them."""

    def __init__(self, catalogs: Catalogs, registries: Registries) -> None:
        self._catalogs, self.registries = catalogs, registries

    def datasets(
        self, plan: Java, sources: tuple[Source, ...], versions: VersionOf | None = None
    ) -> dict[int, tuple[Dataset, ...]]:
        """The datasets of each source of a plan, by the source's position.

        With the `versions` that a batch reads; those of a stream are told by its progress.
        """
        wanted = {source.ids: index for index, source in enumerate(sources)}
        found: dict[int, tuple[Dataset, ...]] = {}
        for leaf in self.all(plan):
            index = wanted.get(ids_of(leaf))
            if index is None or index in found:
                continue
            fields, read = _shown(leaf, sources[index].fields), self.of(leaf)
            version = versions(leaf) if versions is not None and read else None
            found[index] = tuple(
                msgspec.structs.replace(d, fields=d.fields or fields, version=version)
                if d.behind is None
                else msgspec.structs.replace(d, version=PART if d.behind else None)
                for d in read
            )
        return found

    def of(self, leaf: Java) -> list[Dataset]:
        """The datasets that one leaf reads."""
        kind = class_name(leaf)
        if kind == "StreamingRelationV2":
            return self._stream_v2(leaf)
        if kind in ("StreamingRelation", "StreamingExecutionRelation"):
            return self._stream_v1(leaf)
        if kind == "HiveTableRelation":
            return [self._catalogs.v1(leaf.tableMeta())]
        if kind.startswith("LogicalRelation"):
            return self._relation(leaf)
        if "DataSourceV2" in kind:
            return self._v2(leaf)
        return []

    def all(self, plan: Java) -> Iterator[Java]:
        """Leaves of a plan and of every subquery in it, and of a command's query."""
        pending, seen = [plan], set[int]()
        while pending:
            node = pending.pop()
            identity = int(node.hashCode()), str(node.getClass().getName())
            if hash(identity) in seen:
                continue
            seen.add(hash(identity))
            yield from seq(node.collectLeaves())
            pending.extend(seq(node.subqueriesAll()))
            for name in _INNER.get(class_name(node), _USUAL):
                inner = call(node, name)
                if inner is not None and call(inner, "collectLeaves") is not None:
                    pending.append(inner)
        return

    def _stream_v2(self, leaf: Java) -> list[Dataset]:
        options = string_map(leaf.extraOptions())
        name = str(leaf.sourceName())
        if name in _NO_DATASET:
            return []
        if "kafka.bootstrap.servers" in options:
            return self._topics(options)
        catalog, identifier = option(leaf.catalog()), option(leaf.identifier())
        return self._table(leaf.table(), catalog, identifier, options)

    def _stream_v1(self, leaf: Java) -> list[Dataset]:
        data_source = call(leaf, "dataSource")
        if data_source is None:
            return []
        options = string_map(data_source.options())
        table = option(call(data_source, "catalogTable"))
        if table is not None:
            return [self._catalogs.v1(table)]
        if "kafka.bootstrap.servers" in options:
            return self._topics(options)
        return [naming.matching(options["path"])] if "path" in options else []

    def _v2(self, leaf: Java) -> list[Dataset]:
        relation = call(leaf, "relation") or leaf
        catalog, identifier = option(relation.catalog()), option(relation.identifier())
        options = string_map(call(relation, "options"))
        return self._table(relation.table(), catalog, identifier, options)

    def _table(
        self, table: Java, catalog: Java, identifier: Java, options: Mapping[str, str]
    ) -> list[Dataset]:
        if "url" in options and ("dbtable" in options or class_name(table) == "JDBCTable"):
            return [naming.jdbc(options["url"], options.get("dbtable") or str(table.name()))]
        name = table_name(identifier) if identifier else None
        owner = str(catalog.name()) if catalog else None
        behind = behind_metadata(table)
        if behind is not None:  # the last part of the name says what it is of the table
            base = name.rpartition(".")[0] if name and "/" not in name else name
            found = self._catalogs.v2(table, owner, base)
            return [msgspec.structs.replace(found, behind=behind)] if found is not None else []
        found = self._catalogs.v2(table, owner, name)
        if found is not None:
            return [found]
        paths = call(table, "fileIndex", "rootPaths")
        if paths is not None:
            return [naming.location(str(path.toString())) for path in seq(paths)]
        return [naming.location(options["path"])] if "path" in options else []

    def _relation(self, leaf: Java) -> list[Dataset]:
        table = option(leaf.catalogTable())
        if table is not None:
            return [self._catalogs.v1(table)]
        relation = leaf.relation()
        kind = class_name(relation)
        if kind == "JDBCRelation":
            options = relation.jdbcOptions()
            fields = tuple(map(str, leaf.schema().fieldNames()))
            return [*naming.jdbc_tables(str(options.url()), str(options.tableOrQuery()), fields)]
        if kind == "KafkaRelation":
            return self._topics(string_map(private_field(relation, "sourceOptions")))
        # Files, also those of formats with a relation of their own, such as Delta's.
        paths = call(relation, "location", "rootPaths")
        return [naming.location(str(path.toString())) for path in seq(paths)] if paths else []

    def _topics(self, options: Mapping[str, str]) -> list[Dataset]:
        found = list(naming.topics(options))
        self.registries.note(options, found)
        return found


def table_name(identifier: Java) -> str:
    """A catalog's name of a table; a branch or a moment of it is still that table."""
    parts = [*map(str, identifier.namespace()), str(identifier.name())]
    if len(parts) > 1 and parts[-1].startswith(_SELECTORS):
        parts.pop()
    return ".".join(parts)


def _shown(leaf: Java, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Fields without the hidden columns that a query asks for, such as `_metadata` of files."""
    if not any(field.name.startswith("_") for field in fields):
        return fields
    listed = json.loads(str(leaf.schema().json()))["fields"]
    hidden = {one["name"] for one in listed if _HIDDEN in one["metadata"]}
    return tuple(field for field in fields if field.name not in hidden)


def ids_of(plan: Java) -> tuple[int, ...]:
    """The ids of a plan's output, out of one call: `name#12L` for each attribute."""
    text = str(plan.output().mkString("\0"))
    found = (_ID.search(part) for part in text.split("\0") if part)
    return tuple(int(match[1]) for match in found if match)
