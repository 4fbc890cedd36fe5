"""The states of runs that follow from the runs above or below them.

Both are worked out once per commit, for all runs together. Runs are followed through those that
send no events over `LEVELS` levels at most, so that no chain of parents makes an event expensive.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from headwater.openlineage.lifecycle import RunState, state_of_children
from headwater.server.store.commit import Commit
from headwater.server.store.jobs import job_name
from headwater.server.store.rows import RunRow
from headwater.server.store.run_states import settle_state
from headwater.server.store.runs import run_row, run_rows

_DOUBLINGS = 7
LEVELS = 2**_DOUBLINGS  # of runs above or below one that are looked at
_BELOW = (
    "SELECT id, parent, own, state, created_at, started_at, updated_at, ended_at FROM run "
    "WHERE parent = ANY(?)"
)


def end_above(commit: Commit, run: RunRow) -> int | None:
    """When the nearest run above that sends events has ended, if it has."""
    above = run.parent
    for _ in range(LEVELS):
        if above is None or above == run.id:
            return None
        row = run_row(commit, above)
        if row.own:
            return row.ended_at
        above = row.parent
    return None


def settle_children(commit: Commit) -> None:
    """Settle the runs below those whose end is newly known."""
    todo, commit.ended = {run for run in commit.ended if _may_have_children(commit, run)}, set()
    if todo:
        commit.flush()
    for _ in range(LEVELS):
        if not todo:
            return
        below = [row[0] for row in _runs_below(commit, todo) if row[2]]
        todo = {child.id for child in run_rows(commit, below) if _settle_child(commit, child)}


def _may_have_children(commit: Commit, run: int) -> bool:
    return run in commit.cache.run_parents or not commit.cache.is_new("run", run)


def _settle_child(commit: Commit, child: RunRow) -> bool:
    before = child.state, child.ended_at
    settle_state(child, end_above(commit, child))
    if (child.state, child.ended_at) == before:
        return False
    commit.changed_runs.add(child.id)
    if child.parent is not None:
        commit.parents.add(child.parent)
    name = job_name(commit, child.job)
    commit.feed.parent(child.uuid, name, child.state, child.ended_at or child.updated_at)
    return True


def settle_parents(commit: Commit) -> None:
    """Give parents that send no events of their own the state of the runs below them."""
    todo, commit.parents = commit.parents, set()
    if not todo:
        return
    commit.flush()
    parents = _silent_above(commit, todo)
    found = _sums_below(_runs_below(commit, parents))
    for parent in parents.values():
        _follow(commit, parent, found.get(parent.id))


def _silent_above(commit: Commit, runs: set[int]) -> dict[int, RunRow]:
    """Those of some runs, and of the runs above them, that send no events."""
    found: dict[int, RunRow] = {}
    for _ in range(LEVELS):
        new = runs - found.keys()
        if not new:
            break
        level = [row for row in run_rows(commit, sorted(new)) if not row.own]
        found.update({row.id: row for row in level})
        runs = {row.parent for row in level if row.parent is not None}
    return found


def _runs_below(commit: Commit, runs: Iterable[int]) -> list[tuple[Any, ...]]:
    """The runs below some, past those without events of their own."""
    level, found = [*runs], list[tuple[Any, ...]]()
    seen = {*level}
    for _ in range(LEVELS):
        if not level:
            break
        rows = commit.session.all(_BELOW, level)
        found += rows
        level = [row[0] for row in rows if not row[2] and row[0] not in seen]
        seen.update(level)
    return found


class _Sum(NamedTuple):
    """What runs have in common: their states, and the ends of their times."""

    states: frozenset[str]
    created_at: int
    started_at: int | None
    updated_at: int
    ended_at: int | None

    def __add__(self, other: "_Sum") -> "_Sum":  # type: ignore[override]
        started = [time for time in (self.started_at, other.started_at) if time is not None]
        return _Sum(
            self.states | other.states,
            min(self.created_at, other.created_at),
            min(started, default=None),
            max(self.updated_at, other.updated_at),
            max(self.ended_at or 0, other.ended_at or 0) or None,
        )


def _sums_below(rows: list[tuple[Any, ...]]) -> dict[int, _Sum]:
    """Of each parent among some runs, the sum of those below that send events.

    Sums over one level give those over two, then over four, and so on.
    """
    sums, above = dict[int, _Sum](), dict[int, int]()
    for number, parent, own, state, *times in rows:
        if own:
            _add(sums, parent, _Sum(frozenset([state]), *times))
        else:
            above[number] = parent
    for _ in range(_DOUBLINGS):
        for number, found in [*sums.items()]:
            if number in above:
                _add(sums, above[number], found)
        above = {number: above[top] for number, top in above.items() if top in above}
    return sums


def _add(sums: dict[int, _Sum], run: int, found: _Sum) -> None:
    known = sums.get(run)
    sums[run] = found if known is None else known + found


def _follow(commit: Commit, parent: RunRow, below: _Sum | None) -> None:
    before = parent.state
    below = below or _Sum(frozenset(), parent.job_at, None, parent.job_at, None)
    parent.state = state_of_children([RunState(state) for state in below.states])
    _, parent.created_at, parent.started_at, parent.updated_at, ended_at = below
    is_over = parent.state not in (RunState.RUNNING, RunState.NEW)
    parent.ended_at = ended_at if is_over else None
    commit.changed_runs.add(parent.id)
    if parent.state != before:
        name = job_name(commit, parent.job)
        commit.feed.parent(parent.uuid, name, parent.state, parent.updated_at)
