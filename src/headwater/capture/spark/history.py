"""The history of an Iceberg snapshot: which snapshots it was made from, by sequence number.

A table counts its snapshots, whatever branch they are of. A snapshot was made from all that have a
number in its history; others were rolled back, or are of other branches. A table that is created
again at the same place counts anew, and has another UUID.
"""

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.capture.spark.jvm import Java, call

History = tuple[tuple[int, int], ...]  # from and to, both included, earliest first; itself the last

_MOST = 20  # ranges, the latest ones
_UTIL = "org.apache.iceberg.util.SnapshotUtil"
_NONE = -1  # no snapshot has this id


def history_of(table: Java, snapshot_id: int) -> History:
    """The history of a snapshot, as far as snapshots have not expired.

    Tables of format v1 do not count their snapshots.
    """
    util = JavaClass(_UTIL, table._gateway_client)
    try:
        # Latest first.
        return _ranges(table, util.snapshotIdsBetween(table, _NONE, snapshot_id))
    except (Py4JError, PySparkException):
        return ()


def uuid_of(table: Java) -> str | None:
    """What tells a table from another one that has been at its place."""
    found = call(table, "uuid")
    return None if found is None else str(found.toString())


def extended(history: History, number: int) -> History:
    """The history of a snapshot that was made from the last one of another history."""
    if number <= 0:
        return ()
    if history and history[-1][1] == number - 1:
        return (*history[:-1], (history[-1][0], number))
    return (*history, (number, number))[-_MOST:]


def _ranges(table: Java, ids: Java) -> History:
    """The sequence numbers of snapshots, of which each was made from the next one."""

    def number(place: int) -> int:
        return int(table.snapshot(ids.get(place)).sequenceNumber())

    found: list[tuple[int, int]] = []
    begin, end = 0, int(ids.size())
    while begin < end and len(found) < _MOST and (last := number(begin)) > 0:
        # Numbers fall from place to place, by one until some other snapshot came between.
        low, high = begin, end - 1
        while low < high:
            middle = (low + high + 1) // 2
            is_same = number(middle) == last - (middle - begin) > 0
            low, high = (middle, high) if is_same else (low, middle - 1)
        found.append((last - (low - begin), last))
        begin = low + 1
    return tuple(found[::-1])
