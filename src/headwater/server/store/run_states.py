"""The states of runs from their own events, and from the end of the run above them."""

from headwater.openlineage.events import Event
from headwater.openlineage.lifecycle import (
    ENDINGS,
    EventType,
    RunState,
    gravity,
    state_of,
    tries_of,
)
from headwater.server.store.commit import Commit
from headwater.server.store.database import Session
from headwater.server.store.log import read_bodies
from headwater.server.store.rows import RunRow

LAPSE = "headwater_lapse"  # the facet by which the server's own ABORT is known


def report_state(commit: Commit, run: RunRow, event: Event, last: int) -> None:
    """Take the last try of the run from its events; `last` is the time of the latest before."""
    time, rank = event.time, gravity(event.kind)
    is_repeat = run.started_at is not None and (
        (event.kind is EventType.RUNNING and time >= run.started_at)
        or (rank is not None and run.ending is not None and (time, rank) >= _ended(run))
    )
    if event.kind is EventType.OTHER or is_repeat:
        return
    if run.ending is None and (run.started_at is None or time >= last):
        run.started_at = time if run.started_at is None else run.started_at
        if rank is not None:
            run.ended_at, run.ending = time, rank
        return
    # It came late, or after an ending: all events are looked at again.
    known = [(event.time, event.kind), *_reports(commit, run)]
    tries = tries_of(known)
    begun = [run.started_at] if len(tries) == 1 and run.started_at is not None else []
    run.started_at = min([tries[-1].started_at, *begun])
    run.ended_at, run.ending = tries[-1].ended_at, tries[-1].ending


def first_completion(commit: Commit, run: RunRow, event: Event) -> int | None:
    """When the run first completed, also if it has started again since."""
    if run.started_at is None or run.started_at <= run.created_at:
        return run.ended_at if run.state == RunState.COMPLETED else None
    own = [] if LAPSE in event.run_facets else [(event.time, event.kind)]
    completed = gravity(EventType.COMPLETE)
    ends = [one.ended_at for one in tries_of([*own, *_reports(commit, run)])
            if one.ending == completed]  # fmt: skip
    return min((end for end in ends if end is not None), default=None)


def _ended(run: RunRow) -> tuple[int, int]:
    return run.ended_at or 0, run.ending or 0


def _reports(commit: Commit, run: RunRow) -> list[tuple[int, EventType]]:
    """The times and types of the run's events; of those that were pruned, the ending is known."""
    commit.flush()
    reports = read_reports(commit.session, run.id)
    kind = next((k for k in ENDINGS if run.ending is not None and gravity(k) == run.ending), None)
    return reports if kind is None else [*reports, (run.ended_at or 0, kind)]


def read_reports(session: Session, run: int) -> list[tuple[int, EventType]]:
    """The times and types of the stored events by which a run's producer reports its state."""
    rows = session.all("SELECT seq, time, type FROM event WHERE run = ? AND type <> 'OTHER'", run)
    aborts = read_bodies(session, [seq for seq, _, kind in rows if kind == EventType.ABORT])
    mark = f'"{LAPSE}"'.encode()
    lapses = {seq for seq, body in aborts.items() if mark in body}
    return [(time, EventType(kind)) for seq, time, kind in rows if seq not in lapses]


def settle_state(run: RunRow, ended_above: int | None) -> None:
    """Work out the run's state and when its lease runs out.

    A run without an ending is over when its lease has run out. One without a lease is over when
    the run above it has ended. Either holds until the run reports something later than that.
    """
    ends = (run.lapsed_at, ended_above if run.lease is None else None)
    lapsed_at = min(
        (end for end in ends if end is not None and end >= run.updated_at), default=None
    )
    run.state = state_of(run.ending, run.started_at is not None, lapsed_at is not None)
    if run.ending is None:
        run.ended_at = lapsed_at
    is_due = run.state in (RunState.RUNNING, RunState.NEW) and run.lease is not None
    run.deadline = run.heard_at + run.lease if is_due and run.lease else None
