"""Deletes old events and the details of old runs; the graph, now and then, stays.

Edges, schemas and mappings with their times are kept for good, and of events those that say
what is still shown: the facets of datasets, of jobs and of runs that are kept. So are events
that others which stay are compressed against (docs/adr/0041).
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from headwater.openlineage.times import FOREVER, format_moment
from headwater.server.store.apply_runs import DECLARATION
from headwater.server.store.commit import Commit
from headwater.server.store.database import Session
from headwater.server.store.keys import note
from headwater.server.store.rows import unpack_sources
from headwater.server.store.store import Store

PRUNED = "pruned"
_SLICE = 2000  # rows that one commit lets go of, so that others get their turn
_DROP_OBSERVATIONS = (
    "DELETE FROM dataset_observation AS o WHERE run = ANY(?) AND EXISTS "
    "(SELECT 1 FROM dataset_observation n "
    "WHERE n.dataset = o.dataset AND n.io = o.io AND n.job = o.job "
    "AND n.time > o.time AND (o.schema IS NULL OR n.schema IS NOT NULL) "
    "AND (o.mapping IS NULL OR n.mapping IS NOT NULL))"
)


class Pruned(NamedTuple):
    """How much was deleted."""

    events: int
    runs: int


def prune(store: Store, before: int) -> Pruned:
    """Let go of events before a moment, and of runs that ended before it."""
    with store.database.reading() as session:
        runs = _old_runs(session, before)
    for part in _slices(runs):
        store.writer.change(partial(_drop_runs, part)).result()
    with store.database.reading() as session:
        events, last = _old_events(session, before)
    dropped = [
        store.writer.change(partial(_drop_events, part, last)).result() for part in _slices(events)
    ]
    found = Pruned(sum(dropped), len(runs))
    if any(found):
        told = f"{found.events} events, {found.runs} runs before {format_moment(before)}"
        store.writer.change(
            lambda commit: note(commit.session, "server", PRUNED, told, "")
        ).result()
    return found


def has_pruned(session: Session) -> bool:
    """Whether events were ever let go of, so that their numbers have gaps."""
    return bool(session.all("SELECT 1 FROM audit WHERE action = ? LIMIT 1", PRUNED))


def _slices(ids: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(ids), _SLICE):
        yield ids[start : start + _SLICE]


def _old_runs(session: Session, before: int) -> list[int]:
    """Runs that ended long ago, and that nothing which is shown rests on."""
    rows = session.all("SELECT id, job, created_at, updated_at, ended_at, state, parent FROM run")
    ios = _Ios(session)
    keep = _definers(session) | ios.versions_now()
    latest: dict[tuple[int, bool], tuple[int, int]] = {}  # of runs, and of job events
    parents: dict[int, int | None] = {}
    old: set[int] = set()
    for number, job, created, updated, ended, state, parent in rows:
        parents[number] = parent
        is_declared = state == DECLARATION
        which = job, is_declared
        latest[which] = max(latest.get(which, (created, number)), (created, number))
        if (is_declared or ended is not None) and max(ended or 0, updated) < before:
            old.add(number)
        else:
            keep.add(number)
    keep |= {number for _, number in latest.values()}
    todo = [*keep]
    while todo:  # who is above one that is kept, or wrote what it read, is kept
        number = todo.pop()
        beside = {*ios.wrote_for(number), parents.get(number)} - keep - {None}
        found = {run for run in beside if run is not None}
        keep |= found
        todo += found
    return sorted(old - keep)


def _definers(session: Session) -> set[int]:
    """The runs that define a job, and of those they add up with the last that told the same."""
    rows = session.all("SELECT in_run, out_run FROM job")
    definers = {run for row in rows for run in row if run is not None}
    beside = session.all(
        "SELECT max(b.id) FROM run s JOIN run b ON b.first_parent = s.first_parent "
        "AND b.job = s.job WHERE s.id = ANY(?) GROUP BY b.job, b.first_parent, b.version",
        [*definers],
    )
    return definers | {row[0] for row in beside}


class _Ios:
    """Who wrote and who read which dataset, and when."""

    def __init__(self, session: Session) -> None:
        self._writes: dict[int, list[tuple[int, int]]] = {}
        self._first: dict[int, tuple[int, int]] = {}
        self._reads: dict[int, list[tuple[int, int]]] = {}
        rows = session.all(
            "SELECT d.root, io.io, io.since, io.run FROM run_io io "
            "JOIN dataset d ON d.id = io.dataset WHERE io.written >= 0 ORDER BY io.since"
        )
        for dataset, io, since, run in rows:
            if io == 1:
                self._writes.setdefault(dataset, []).append((since, run))
            else:
                self._first.setdefault(dataset, (since, run))
                self._reads.setdefault(run, []).append((dataset, since))

    def versions_now(self) -> set[int]:
        """The runs whose word is a dataset's version: who wrote it last, and who read it first."""
        last = {writes[-1][1] for writes in self._writes.values()}
        return last | {run for _, run in self._first.values()}

    def wrote_for(self, run: int) -> set[int]:
        """The runs that wrote the versions which a run read."""
        found = set()
        for dataset, since in self._reads.get(run, ()):
            writes = self._writes.get(dataset, [])
            place = bisect_right(writes, (since, FOREVER))
            if place:
                found.add(writes[place - 1][1])
        return found


def _drop_runs(ids: list[int], commit: Commit) -> None:
    session = commit.session
    session.run(_DROP_OBSERVATIONS, ids)
    session.run("DELETE FROM snapshot WHERE run = ANY(?)", ids)
    session.run("DELETE FROM run_io WHERE run = ANY(?)", ids)
    session.run("DELETE FROM facet_tag WHERE kind = 'RUN' AND target = ANY(?)", ids)
    session.run("DELETE FROM run WHERE id = ANY(?)", ids)
    commit.clear_cache()


def _old_events(session: Session, before: int) -> tuple[list[int], int]:
    """Events that may go, those compressed against others first, and the last event of all."""
    needed = _needed(session)
    rows = session.all("SELECT seq, base FROM event WHERE time < ?", before)
    going = {seq for seq, base in rows if base is not None and seq not in needed}
    alone = {seq for seq, base in rows if base is None and seq not in needed}
    if alone:
        newer = "SELECT DISTINCT base FROM event WHERE time >= ? AND base IS NOT NULL"
        alone -= {base for (base,) in session.all(newer, before)}
        alone -= {base for seq, base in rows if seq in needed}
    ((last,),) = session.all("SELECT coalesce(max(seq), 0) FROM event")
    return [*sorted(going), *sorted(alone)], last


def _needed(session: Session) -> set[int]:
    """Events that said a facet which is still shown."""
    needed: set[int] = set()
    for columns, table in (
        ("facets", "dataset"), ("facets", "job"), ("facets, job_facets", "run"),
        ("facets, own", "run_io"),
    ):  # fmt: skip
        for row in session.all(f"SELECT {columns} FROM {table}"):
            needed.update(stamp[2] for sources in row for stamp in _stamps(sources))
    needed.update(row[0] for row in session.all("SELECT seq FROM snapshot"))
    return needed


def _stamps(sources: Any) -> list[tuple[int, int, int]]:
    return [*unpack_sources(sources).values()] if sources else []


def _drop_events(seqs: list[int], last: int, commit: Commit) -> int:
    """Delete events, unless one that was stored after the last is compressed against them."""
    session = commit.session
    new = session.all("SELECT DISTINCT base FROM event WHERE seq > ? AND base IS NOT NULL", last)
    going = [*{*seqs} - {base for (base,) in new}]
    session.run("DELETE FROM event WHERE seq = ANY(?)", going)
    # No server, this one included, compresses anything against them from now on.
    session.run("UPDATE clock SET pruned = pruned + 1")
    commit.cache.compressor.forget()
    return len(going)
