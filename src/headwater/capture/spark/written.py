"""What a batch write left: rows, bytes and files as Spark counted them, or Iceberg's snapshot."""

from collections.abc import Iterator
from typing import NamedTuple

from headwater.capture.facets import Written
from headwater.capture.spark.catalogs import iceberg
from headwater.capture.spark.executions import planned_at
from headwater.capture.spark.history import history_of
from headwater.capture.spark.jvm import Java, call, class_name, option

_APPLICATION = "spark.app.id"
_MOST = 50  # snapshots that are looked at
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
    found = [*_made(inner, application_id, begun, begun + duration_ns // 1_000_000)]
    if len(found) != place.writes:
        return Written()  # none that stays, or another write at the same time
    made = found[::-1][place.number]  # the writes of a statement run one after the other
    summary = made.summary()
    return Written(
        _number(summary.get("added-records")),
        _number(summary.get("added-files-size")),
        _number(summary.get("added-data-files")),
        str(made.snapshotId()),
        int(made.sequenceNumber()),
        history_of(inner, int(made.snapshotId())),
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
    """The snapshots that an application made between two moments, newest first."""
    snapshot = table.currentSnapshot()
    for _ in range(_MOST):
        if snapshot is None or (at := int(snapshot.timestampMillis())) < since:
            return
        if at <= until and snapshot.summary().get(_APPLICATION) == application_id:
            yield snapshot
        parent = snapshot.parentId()
        snapshot = table.snapshot(parent) if parent is not None else None


def _number(value: Java | None) -> int | None:
    return None if value is None else int(value)
