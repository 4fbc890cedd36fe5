"""The life of a run: how events, in any order and with any repeats, make one state.

Everything kept here is a minimum or a maximum over the run's events, so that merging is
commutative, associative and idempotent: arrival order cannot matter.
"""

from enum import StrEnum


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


def state_of(ending: int | None, started: bool, lapsed: bool) -> RunState:
    """The state of a run from its first ending, whether it began, and whether its lease ran out.

    The first ending by event time is final: a FAIL that a listener follows with COMPLETE
    stays a FAIL. A lapsed lease counts only while the run's producer reported no ending.
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
