"""Which state of its dataset a batch read is of: a snapshot, a version, the newest of its files."""

import re
from datetime import UTC, datetime

from headwater.capture.spark.catalogs import iceberg
from headwater.capture.spark.jvm import Java, call, class_name

# Files whose modification is looked at: their listing comes over as one text.
_MOST_FILES = 20_000
_MODIFIED = re.compile(r"modification_time=(\d+)")
_MOST_WRAPPERS = 3


def version_of(leaf: Java) -> str:
    """The version that a leaf of an analyzed plan reads; empty where it is not known."""
    relation = call(leaf, "relation")
    if class_name(leaf).startswith("LogicalRelation"):
        return _of_files(call(relation, "location"))
    table = call(relation or leaf, "table")
    if table is None:
        return ""
    return _of_iceberg(table) or _of_files(call(table, "fileIndex"))


def _of_iceberg(table: Java) -> str:
    """The snapshot of an Iceberg table; newer versions of Iceberg hold it fast for a query."""
    inner = iceberg(table)
    if inner is None:
        return ""
    for _ in range(_MOST_WRAPPERS):
        snapshot = call(table, "snapshotId")
        if snapshot is not None:
            return str(snapshot)
        table = call(table, "table")
    latest = call(inner, "currentSnapshot", "snapshotId")
    return "" if latest is None else str(latest)


def _of_files(index: Java | None) -> str:
    """The version of a Delta table, or the time of the newest of listed files."""
    version = call(index, "snapshotAtAnalysis", "version")
    if version is not None:
        return str(version)
    listed = call(index, "allFiles")
    if listed is None or int(listed.size()) > _MOST_FILES:
        return ""
    times = _MODIFIED.findall(str(listed.mkString("\n")))
    if not times:
        return ""
    newest = datetime.fromtimestamp(max(map(int, times)) / 1_000, UTC)
    return newest.isoformat(timespec="milliseconds")
