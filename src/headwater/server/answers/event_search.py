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
from headwater.server.answers.events import KINDS
from headwater.server.answers.reading import Reading, moment
from headwater.server.store.log import each_body

_TOGETHER = 250  # events that are opened at once
_LARGEST = 16 * 2**20  # bytes of events after which an answer ends; `next` goes on from there
_PLACE = re.compile(r"(-?[0-9]{1,19})\.([0-9]{1,19})")
_LONGEST = 0.6  # seconds after which an answer is given, however little was found


class Place(NamedTuple):
    """Where the log was left: everything before it is still to be looked at."""

    time: int
    seq: int

    def __str__(self) -> str:
        return f"{self.time}.{self.seq}"

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Read a place as it was told.

        Raises: ValueError.
        """
        found = _PLACE.fullmatch(text)
        if found is None or max(numbers := [int(part) for part in found.groups()]) > FOREVER:
            raise ValueError(text)
        return cls(*numbers)


class Found(NamedTuple):
    """What a stretch of the log held."""

    bodies: list[bytes]
    looked: int
    next: Place | None
    reached: datetime | None


def search(
    reading: Reading, text: str, kind: str, types: list[str], start: Place, limit: int
) -> Found:
    """Events that hold a text in any case, newest first, from a place in the log on."""
    wanted = msgspec.json.encode(text)[1:-1].lower()  # as it stands in JSON
    bodies: list[bytes] = []
    looked, place, began, size = 0, start, perf_counter(), 0
    while len(bodies) < limit and (looked == 0 or perf_counter() - began < _LONGEST):
        rows = _stretch(reading, kind, types, place)
        times = dict(rows)
        for seq, body in each_body(reading.session, [*times]):
            looked, place = looked + 1, Place(times[seq], seq)
            if body is not None and wanted in body.lower():
                bodies.append(body)
                reading.budget.grow(len(body))
                size += len(body)
            if len(bodies) == limit or size >= _LARGEST or perf_counter() - began > _LONGEST:
                return Found(bodies, looked, place, moment(place.time))
        if len(rows) < _TOGETHER:
            return Found(bodies, looked, None, None)
    return Found(bodies, looked, place, moment(place.time))


def _stretch(reading: Reading, kind: str, types: list[str], place: Place) -> list[Any]:
    where, params = f"(time, seq) < (?, ?){KINDS[kind]}", [*place]
    if types:
        where += f" AND type IN ({', '.join('?' * len(types))})"
    return reading.session.all(
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
