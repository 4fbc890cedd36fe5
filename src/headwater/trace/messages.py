"""The messages of records, read and decoded by the lineage server.

The server reads them as it reads the topics that the page shows: with the same scope, and with
secrets masked.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from headwater.errors import RequestRefused, ServerUnreachable
from headwater.trace.lineage import Lineage
from headwater.trace.shapes import Record, Records

_MOST = 200  # records of one partition whose messages are asked for at once
_NO_CLUSTER = "the server was given no Kafka cluster (--kafka): messages are not shown"


def add_messages(lineage: Lineage, found: Iterable[Records], bootstrap: str) -> None:
    """Put their messages into records, as far as the server may be asked for them."""
    by_place: dict[tuple[str, int], dict[int, list[Record]]] = {}
    for one in found:
        for record in (*one.records, *(r for row in one.rows for r in row.records)):
            offsets = by_place.setdefault((record.topic, record.partition), {})
            offsets.setdefault(record.offset, []).append(record)
    if not by_place:
        return
    try:
        cluster = _cluster(lineage, bootstrap)
        for (topic, partition), offsets in by_place.items() if cluster else ():
            _fill(lineage, f"kafka/{quote(str(cluster), '')}/topics/{quote(topic, '')}/messages",
                  partition, offsets)  # fmt: skip
    except (ServerUnreachable, RequestRefused) as error:
        lineage.note(f"messages are not shown: {error.message}")


def _cluster(lineage: Lineage, bootstrap: str) -> str | None:
    """The name under which the server knows the cluster of some bootstrap servers."""
    wanted = {*bootstrap.split(",")}
    for one in lineage.server.ask_list("kafka"):
        if wanted & {*str(one["servers"]).split(",")}:
            return str(one["name"])
    lineage.note(_NO_CLUSTER)
    return None


def _fill(lineage: Lineage, path: str, partition: int, offsets: dict[int, list[Record]]) -> None:
    wanted = sorted(offsets)
    for start in range(0, len(wanted), _MOST):
        part = wanted[start : start + _MOST]
        told = lineage.server.ask(path, partition=partition, offset=part)
        for message in told["messages"]:
            for record in offsets.get(message["offset"], ()):
                record.message = _value(message)


def _value(message: dict[str, Any]) -> Any:
    """What a message says, or why it cannot be read."""
    told = message.get("value")
    if told is None:
        return None
    return told["value"] if told.get("value") is not None else told.get("note")
