"""The life of a run: how events, in any order and with any repeats, make one state.

Everything follows from the times and types of the run's events, never from their arrival.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class EventType(StrEnum):
    """What a run event reports."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    ABORT = "ABORT"
    FAIL = "FAIL"
    OTHER = "OTHER"


class RunState(StrEnum):
    """What a run is, by what its events said."""

    NEW = "NEW"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    ABORTED = "ABORTED"
    FAILED = "FAILED"


# Of two endings at one instant the graver is believed.
_GRAVITY = {EventType.FAIL: 0, EventType.ABORT: 1, EventType.COMPLETE: 2}
_ENDED = {
    EventType.FAIL: RunState.FAILED,
    EventType.ABORT: RunState.ABORTED,
    EventType.COMPLETE: RunState.COMPLETED,
}
ENDINGS = tuple(_ENDED)
_BY_GRAVITY = {gravity: _ENDED[kind] for kind, gravity in _GRAVITY.items()}


def gravity(kind: EventType) -> int | None:
    """The rank of an ending among endings of one instant; None for what ends nothing."""
    return _GRAVITY.get(kind)


class Try(NamedTuple):
    """One try of a run: from its first event to its first ending, with the rank of that."""

    started_at: int
    ended_at: int | None = None
    ending: int | None = None


def tries_of(events: Iterable[tuple[int, EventType]]) -> list[Try]:
    """The tries of a run, by the times and types of its events.

    A START after an ending begins a new try. Anything else after an ending changes nothing.
    """
    tries: list[Try] = []
    reports = [(time, kind) for time, kind in events if kind is not EventType.OTHER]
    for time, kind in sorted(reports, key=lambda report: (report[0], _rank(report[1]))):
        is_over = bool(tries) and tries[-1].ending is not None
        if not tries or (is_over and kind is EventType.START):
            tries.append(Try(time))
            is_over = False
        if kind in _GRAVITY and not is_over:
            tries[-1] = Try(tries[-1].started_at, time, _GRAVITY[kind])
    return tries


def _rank(kind: EventType) -> int:
    """The order of events of one instant."""
    return _GRAVITY.get(kind, -1)


def state_of(ending: int | None, started: bool, lapsed: bool) -> RunState:
    """The state of a run from the ending of its last try, whether it began, and whether it lapsed.

    The first ending of a try by event time is final: a FAIL that a listener follows with COMPLETE
    stays a FAIL. A lapse counts only while the run's producer reported no ending.
    """
    if ending is not None:
        return _BY_GRAVITY[ending]
    if lapsed:
        return RunState.ABORTED
    return RunState.RUNNING if started else RunState.NEW


def state_of_children(states: list[RunState]) -> RunState:
    """The state of a parent that sends no events of its own, from those of its children."""
    if not states:
        return RunState.NEW
    for state in (RunState.RUNNING, RunState.NEW, RunState.FAILED, RunState.ABORTED):
        if state in states:
            return RunState.RUNNING if state is RunState.NEW else state
    return RunState.COMPLETED
