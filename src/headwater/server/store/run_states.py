"""The states of runs: from their own events, from the run above them, or from the runs below."""

from typing import Any

from headwater.openlineage.events import Event
from headwater.openlineage.lifecycle import (
    ENDINGS,
    EventType,
    RunState,
    gravity,
    state_of,
    state_of_children,
    tries_of,
)
from headwater.server.store.database import Session
from headwater.server.store.log import read_bodies
from headwater.server.store.rows import RunRow
from headwater.server.store.unit import Unit

LAPSE = "headwater_lapse"  # the facet by which the server's own ABORT is known


def report_state(unit: Unit, run: RunRow, event: Event, last: int) -> None:
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
    known = [(event.time, event.kind), *_reports(unit, run)]
    tries = tries_of(known)
    begun = [run.started_at] if len(tries) == 1 and run.started_at is not None else []
    run.started_at = min([tries[-1].started_at, *begun])
    run.ended_at, run.ending = tries[-1].ended_at, tries[-1].ending


def _ended(run: RunRow) -> tuple[int, int]:
    return run.ended_at or 0, run.ending or 0


def _reports(unit: Unit, run: RunRow) -> list[tuple[int, EventType]]:
    """The times and types of the run's events; of those that were pruned, the ending is known."""
    unit.flush()
    reports = read_reports(unit.session, run.id)
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


def end_above(unit: Unit, run: RunRow) -> int | None:
    """When the nearest run above that sends events has ended, if it has."""
    seen, above = {run.id}, run.parent
    while above is not None and above not in seen:
        seen.add(above)
        row = unit.run_row(above)
        if row.own:
            return row.ended_at
        above = row.parent
    return None


def settle_children(unit: Unit) -> None:
    """Settle the runs below those whose end is newly known."""
    todo, seen = unit.ended, set[int]()
    while todo:
        unit.flush()
        seen |= todo
        below: set[int] = set()
        for number in sorted(todo):
            below |= _settle_below(unit, number)
        todo = below - seen
    unit.ended = set()


def _settle_below(unit: Unit, run: int) -> set[int]:
    changed = set()
    for row in _speakers_below(unit, run):
        child = unit.run_row(row[6])
        before = child.state, child.ended_at
        settle_state(child, end_above(unit, child))
        if (child.state, child.ended_at) != before:
            changed.add(child.id)
            unit.changed_runs.add(child.id)
            if child.parent is not None:
                unit.parents.add(child.parent)
            name = unit.job_name(child.job)
            unit.feed.parent(child.uuid, name, child.state, child.ended_at or child.updated_at)
    return changed


def settle_parents(unit: Unit) -> None:
    """Give parents that send no events of their own the state of the runs below them."""
    todo, seen = unit.parents, set[int]()
    while todo:
        unit.flush()
        seen |= todo
        above: set[int] = set()
        for number in sorted(todo):
            parent = unit.run_row(number)
            if not parent.own:
                _follow(unit, parent)
                if parent.parent is not None:
                    above.add(parent.parent)
        todo = above - seen
    unit.parents = set()


def _follow(unit: Unit, parent: RunRow) -> None:
    rows, before = _speakers_below(unit, parent.id), parent.state
    parent.state = state_of_children([RunState(row[0]) for row in rows])
    parent.created_at = min((row[1] for row in rows), default=parent.job_at)
    parent.started_at = min((row[2] for row in rows if row[2] is not None), default=None)
    parent.updated_at = max((row[3] for row in rows), default=parent.job_at)
    ended = parent.state not in (RunState.RUNNING, RunState.NEW)
    parent.ended_at = max((row[4] for row in rows if row[4]), default=None) if ended else None
    unit.changed_runs.add(parent.id)
    if parent.state != before:
        name = unit.job_name(parent.job)
        unit.feed.parent(parent.uuid, name, parent.state, parent.updated_at)


def _speakers_below(unit: Unit, run: int) -> list[tuple[Any, ...]]:
    """The runs with events of their own below one, past those without."""
    level, seen, found = [run], {run}, list[tuple[Any, ...]]()
    while level:
        rows = unit.session.all(
            "SELECT state, created_at, started_at, updated_at, ended_at, own, id FROM run "
            "WHERE parent = ANY(?)", level,
        )  # fmt: skip
        found += [row for row in rows if row[5]]
        level = [row[6] for row in rows if not row[5] and row[6] not in seen]
        seen.update(level)
    return found
