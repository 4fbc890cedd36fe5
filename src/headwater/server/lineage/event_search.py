"""Looks for a text in raw events, newest first, a stretch of the log at a time.

Bodies are compressed against each other, so that no index holds their words: they are opened and
looked through. Each answer has a bound, and tells how far it came and where to go on.
"""

import re
from datetime import datetime
from time import perf_counter
from typing import Any, NamedTuple

import msgspec

from headwater.openlineage.times import FOREVER
from headwater.server.lineage.events import KINDS
from headwater.server.lineage.view import StoreView, moment
from headwater.server.store.log import each_body

_TOGETHER = 250  # events that are opened at once
_LARGEST = 16 * 2**20  # bytes of events after which an answer ends; `next` goes on from there
_CURSOR = re.compile(r"(-?[0-9]{1,19})\.([0-9]{1,19})")
_LONGEST = 0.6  # seconds after which an answer is given, however little was found


class LogCursor(NamedTuple):
    """Where the log was left: everything before it is still to be looked at."""

    time: int
    seq: int

    def __str__(self) -> str:
        return f"{self.time}.{self.seq}"

    @classmethod
    def parse(cls, text: str) -> "LogCursor":
        """Read a cursor as it was told.

        Raises: ValueError.
        """
        found = _CURSOR.fullmatch(text)
        if found is None or max(numbers := [int(part) for part in found.groups()]) > FOREVER:
            raise ValueError(text)
        return cls(*numbers)


class Found(NamedTuple):
    """What a stretch of the log held."""

    bodies: list[bytes]
    looked: int
    next: LogCursor | None
    reached: datetime | None


def search(
    view: StoreView, text: str, kind: str, types: list[str], start: LogCursor, limit: int
) -> Found:
    """Events that hold a text in any case, newest first, from a cursor in the log on."""
    wanted = msgspec.json.encode(text)[1:-1].lower()  # as it stands in JSON
    bodies: list[bytes] = []
    looked, cursor, began, size = 0, start, perf_counter(), 0
    while len(bodies) < limit and (looked == 0 or perf_counter() - began < _LONGEST):
        rows = _stretch(view, kind, types, cursor)
        times = dict(rows)
        for seq, body in each_body(view.log, [*times]):
            looked, cursor = looked + 1, LogCursor(times[seq], seq)
            if body is not None and wanted in body.lower():
                bodies.append(body)
                view.budget.grow(len(body))
                size += len(body)
            if len(bodies) == limit or size >= _LARGEST or perf_counter() - began > _LONGEST:
                return Found(bodies, looked, cursor, moment(cursor.time))
        if len(rows) < _TOGETHER:
            return Found(bodies, looked, None, None)
    return Found(bodies, looked, cursor, moment(cursor.time))


def _stretch(view: StoreView, kind: str, types: list[str], cursor: LogCursor) -> list[Any]:
    where, params = f"(time, seq) < (?, ?){KINDS[kind]}", [*cursor]
    if types:
        where += f" AND type IN ({', '.join('?' * len(types))})"
    return view.session.all(
        f"SELECT seq, time FROM event WHERE {where} ORDER BY time DESC, seq DESC LIMIT ?",
        *params, *types, _TOGETHER,
    )  # fmt: skip


def as_answer(found: Found) -> bytes:
    """What was found as JSON, events byte for byte as they came."""
    told = msgspec.json.encode(
        {
            "looked": found.looked,
            "next": str(found.next) if found.next else None,
            "reached": found.reached,
        }
    )
    return b'%s,"events":[%s]}' % (told[:-1], b",".join(found.bodies))
