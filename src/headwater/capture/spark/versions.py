"""Which state of its dataset a batch read is of: a snapshot, a version, the newest of its files."""

import re
from datetime import UTC, datetime

from headwater.capture.datasets.naming import PART, Version
from headwater.capture.spark.catalogs import iceberg
from headwater.capture.spark.jvm import Java, attempt, call, class_name, string_map

# Files whose modification is looked at: their listing comes over as one text.
_MOST_FILES = 20_000
_MODIFIED = re.compile(r"modification_time=(\d+)")
_MOST_WRAPPERS = 3
_MOST_SNAPSHOTS = 50  # that are made while a write is under way
# Options of Iceberg that read what was added between two snapshots.
_INCREMENT = frozenset({"start-snapshot-id", "end-snapshot-id", "start-timestamp", "end-timestamp"})
# Those that select a state. Some versions of Iceberg do not have it in the table that they give.
_STATE = frozenset({"snapshot-id", "as-of-timestamp", "branch", "tag"})
# Of a table whose branch a setting of the session may select.
_BY_SETTING = "write.wap.enabled"


def version_of(leaf: Java, planned_at: int | None = None) -> Version | None:
    """The version that a leaf of an analyzed plan reads; None where it is not known.

    `planned_at` is when the plan was made to run, in milliseconds since 1970.
    """
    relation = call(leaf, "relation")
    if class_name(leaf).startswith("LogicalRelation"):
        return _of_files(call(relation, "location"))
    table = call(relation or leaf, "table")
    if table is None:
        return None
    options = frozenset(string_map(call(relation or leaf, "options")))
    return _of_iceberg(table, options, planned_at) or _of_files(call(table, "fileIndex"))


def _of_iceberg(table: Java, options: frozenset[str], planned_at: int | None) -> Version | None:
    """The snapshot of an Iceberg table; newer versions of Iceberg hold it fast for a query."""
    inner = iceberg(table)
    if inner is None:
        return None
    if options & _INCREMENT:
        return PART
    branch = None
    for _ in range(_MOST_WRAPPERS):
        selected = call(table, "snapshotId")
        if selected is not None:
            return _snapshot(attempt(inner, "snapshot", selected), str(selected))
        branch = branch or call(table, "branch")
        table = call(table, "table")
    if options & _STATE or branch or inner.properties().get(_BY_SETTING) == "true":
        return PART
    latest = _latest(inner, planned_at)
    return None if latest is None else _snapshot(latest, str(latest.snapshotId()))


def _latest(table: Java, planned_at: int | None) -> Java | None:
    """The snapshot that an Iceberg table had when a plan was made: the write itself moves it."""
    snapshot = call(table, "currentSnapshot")
    for _ in range(_MOST_SNAPSHOTS):
        if snapshot is None or planned_at is None or int(snapshot.timestampMillis()) < planned_at:
            return snapshot
        parent = snapshot.parentId()
        snapshot = None if parent is None else attempt(table, "snapshot", parent)
    return None


def _snapshot(snapshot: Java | None, name: str) -> Version:
    """A snapshot, by the time when it was made; one that is gone is older than any other."""
    made_at = call(snapshot, "timestampMillis")
    return Version(0 if made_at is None else int(made_at), name)


def _of_files(index: Java | None) -> Version | None:
    """The version of a Delta table, or the time of the newest of listed files."""
    version = call(index, "snapshotAtAnalysis", "version")
    if version is not None:
        return Version(int(version), str(version))
    listed = call(index, "allFiles")
    if listed is None or int(listed.size()) > _MOST_FILES:
        return None
    times = _MODIFIED.findall(str(listed.mkString("\n")))
    if not times:
        return None
    newest = max(map(int, times))
    told = datetime.fromtimestamp(newest / 1_000, UTC).isoformat(timespec="milliseconds")
    return Version(newest, told)
