"""What a batch write left: rows, bytes and files as Spark counted them, or Iceberg's snapshot.

Iceberg does not say which snapshot a write made. Its files have the id of the write in their names.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from py4j.java_gateway import JavaClass

from headwater.capture.facets import Written
from headwater.capture.spark.catalogs import iceberg
from headwater.capture.spark.executions import planned_at
from headwater.capture.spark.history import history_of, uuid_of
from headwater.capture.spark.jvm import Java, call, class_name, option, private_field, seq

_APPLICATION = "spark.app.id"
_QUERY = "spark.sql.streaming.queryId"
_ADDED = ("added-data-files", "added-delete-files")
_MOST = 50  # snapshots that are looked at
_MANIFESTS = 20  # of a snapshot; those that it added come first
_FILES = 5  # of a manifest; those that it added come first
_READER = "org.apache.iceberg.ManifestFiles"
_WRAPPERS = {"AdaptiveSparkPlanExec": "executedPlan", "CommandResultExec": "commandPhysicalPlan"}


class Place(NamedTuple):
    """The place of a write among those of its statement that are into the same table."""

    number: int = 0
    writes: int = 1


def written(
    execution: Java, table: Java | None, application_id: str, duration_ns: int, place: Place
) -> Written:
    """What a write has left that took some time and is over, into a table or elsewhere."""
    inner = iceberg(table) if table is not None else None
    if inner is None:
        return counted(call(execution, "executedPlan"))
    begun = planned_at(execution)
    if begun is None:
        return Written()
    made = [*_made(inner, application_id, begun, begun + duration_ns // 1_000_000)]
    found = _own(inner, made, call(execution, "executedPlan"))
    if len(found) != place.writes:
        return Written()  # none that stays, or it cannot be told from those of others
    own = found[::-1][place.number]  # the writes of a statement run one after the other
    summary = own.summary()
    return Written(
        _number(summary.get("added-records")),
        _number(summary.get("added-files-size")),
        _number(summary.get("added-data-files")),
        str(own.snapshotId()),
        int(own.sequenceNumber()),
        history_of(inner, int(own.snapshotId())),
        uuid_of(inner),
    )


def counted(plan: Java | None) -> Written:
    """What the command at the root of an executed plan counted."""
    while plan is not None and class_name(plan) in _WRAPPERS:
        plan = call(plan, _WRAPPERS[class_name(plan)])
    metrics = call(plan, "metrics")
    if metrics is None:
        return Written()
    rows, size, files = (
        _number(call(option(metrics.get(name)), "value"))
        for name in ("numOutputRows", "numOutputBytes", "numFiles")
    )
    return Written(rows, size, files)


def _made(table: Java, application_id: str, since: int, until: int) -> Iterator[Java]:
    """The snapshots that an application's batches made between two moments, newest first.

    They are of every branch, or staged for none.
    """
    snapshots = table.snapshots()
    for place in range(len(snapshots) - 1, max(-1, len(snapshots) - 1 - _MOST), -1):
        snapshot = snapshots[place]
        if not since <= int(snapshot.timestampMillis()) <= until:
            continue
        summary = snapshot.summary()
        if summary.get(_APPLICATION) == application_id and summary.get(_QUERY) is None:
            yield snapshot


def _own(table: Java, made: list[Java], executed: Java | None) -> list[Java]:
    """Which of some snapshots the writes of an executed plan made."""
    writes = [*_writes(executed)]
    ids = [one for one in map(_id, writes) if one is not None]
    own = [
        one
        for one in (made if ids else ())
        if any(id_ in name for name in _files(table, one) for id_ in ids)
    ]
    if own or any(_rows(write) != 0 for write in writes):
        return own
    # A write without files, which a snapshot without files can be of.
    return [one for one in made if not any(map(one.summary().get, _ADDED))]


def _writes(plan: Java | None) -> Iterator[Java]:
    """The nodes of an executed plan that write into a table: one, or those of several inserts."""
    while plan is not None and class_name(plan) in _WRAPPERS:
        plan = call(plan, _WRAPPERS[class_name(plan)])
    if plan is not None and class_name(plan) == "UnionExec":
        for child in seq(plan.children()):
            yield from _writes(child)
    elif call(plan, "write") is not None:
        yield plan


def _id(node: Java) -> str | None:
    """The id of a write, which is in the names of its files."""
    write = node.write()
    found = private_field(write, "queryId") or call(private_field(write, "context"), "queryId")
    return None if found is None else str(found)


def _rows(node: Java) -> int | None:
    """How many rows a write has written."""
    return _number(call(option(call(node, "commitProgress")), "numOutputRows"))


def _files(table: Java, snapshot: Java) -> Iterator[str]:
    """Names of files that a snapshot added, of each of its manifests a few."""
    io, own = table.io(), int(snapshot.snapshotId())
    reader = JavaClass(_READER, table._gateway_client)
    for manifests, read in (
        (snapshot.dataManifests(io), reader.read),
        (snapshot.deleteManifests(io), reader.readDeleteManifest),
    ):
        for manifest in islice(manifests, _MANIFESTS):
            if int(manifest.snapshotId()) != own or not manifest.hasAddedFiles():
                continue
            files = read(manifest, io, table.specs())
            try:
                yield from [str(file.location()) for file in islice(files.iterator(), _FILES)]
            finally:
                files.close()


def _number(value: Java | None) -> int | None:
    return None if value is None else int(value)
