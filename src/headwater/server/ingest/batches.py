"""Reads the events of one request a part at a time, so that others get their turn."""

from collections.abc import Callable, Iterator
from time import thread_time
from typing import NamedTuple, overload

from headwater.errors import EventRejected
from headwater.openlineage.events import Event

_TOGETHER = 500  # events that share a commit
_BYTES = 4 * 2**20  # of events held at once
_TURN = 0.2  # seconds of work
_MOST_TIME = 20.0  # seconds of work for one request
_TOO_LONG = "the request takes too long to read; send fewer events at once"


class Refusal(NamedTuple):
    """Why one event of several is not stored."""

    status: int
    error: str


class Batch:
    """The events of one request, and how one is read."""

    def __init__(self, raws: Iterator[bytes], read: Callable[[bytes], Event | Refusal]) -> None:
        self._raws, self._read = raws, read
        self._worked = 0.0

    def read_part(self) -> list[Event | Refusal]:
        """The next events, or why each is refused; none when there are no more."""
        part: list[Event | Refusal] = []
        room, begun = _BYTES, thread_time()
        for raw in self._raws:
            part.append(self._read_one(raw) if self._worked < _MOST_TIME else _LATE)
            room -= len(raw)
            took = thread_time() - begun
            if len(part) >= _TOGETHER or room < 0 or took > _TURN:
                break
        self._worked += thread_time() - begun
        return part

    def _read_one(self, raw: bytes) -> Event | Refusal:
        try:
            return self._read(raw.strip())
        except EventRejected as error:
            return refusal_of(error)


@overload
def refusal_of(error: EventRejected) -> Refusal: ...
@overload
def refusal_of(error: None) -> None: ...
def refusal_of(error: EventRejected | None) -> Refusal | None:
    """How an event that cannot be accepted, if so, is told among others."""
    return None if error is None else Refusal(error.status, error.message)


_LATE = Refusal(413, _TOO_LONG)
