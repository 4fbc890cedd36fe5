"""Makes the edges of a job anew where events arrived out of order."""

from typing import NamedTuple

from headwater.openlineage.times import FOREVER
from headwater.server.store.commit import Commit
from headwater.server.store.feed import EDGE_ADDED, EDGE_REMOVED
from headwater.server.store.rows import JobRow, group_of
from headwater.server.store.tables import INPUT, MAPPED, insert

INSERT = insert("edge")


def rebuild(commit: Commit, job: JobRow, io: int, moment: int) -> None:
    """Make the edges of a side anew from a moment on: something arrived out of order."""
    commit.flush()
    before = {*open_edges(commit, job.id, io)}
    column = "in_since" if io == INPUT else "out_since"
    ((start,),) = commit.session.all(
        f"SELECT coalesce(max({column}), ?) FROM run WHERE job = ? AND {column} <= ?",
        moment, job.id, moment,
    )  # fmt: skip
    rows = commit.session.all(
        f"SELECT id, {column}, uuid, first_parent FROM run WHERE job = ? AND {column} >= ? "
        f"ORDER BY {column}, uuid", job.id, start,
    )  # fmt: skip
    definers = [_Definer(row[0], row[1], group_of(bytes(row[2]), row[3])) for row in rows]
    earlier: list[_Definer] = []
    for parent in {bytes(row[3]) for row in rows if row[3] is not None}:
        found = commit.session.all(
            f"SELECT id, {column} FROM run WHERE first_parent = ? AND job = ? AND {column} < ?",
            parent, job.id, start,
        )  # fmt: skip
        earlier += [_Definer(row[0], row[1], group_of(b"", parent)) for row in found]
    spans, seen = _spans(commit, io, earlier, definers)
    _join_earlier(commit, job.id, io, start, spans)
    commit.session.many(
        INSERT,
        [(job.id, io, d, since, until) for d, pairs in spans.items() for since, until in pairs],
    )
    del commit.cache.edges[job.id, io]
    now = open_edges(commit, job.id, io, is_stored=True).keys()
    for kind, changed in ((EDGE_ADDED, now - before), (EDGE_REMOVED, before - now)):
        for dataset in changed:
            commit.feed.graph(kind, moment, job=job.id, dataset=dataset)
    run, since = definers[-1][:2] if definers else _definer_before(commit, job.id, column, start)
    define(job, io, run, since, seen)


def open_edges(commit: Commit, job: int, io: int, *, is_stored: bool = False) -> dict[int, int]:
    """The edges of a side that hold now, and since when."""
    known = commit.cache.edges.get((job, io))
    if known is None and commit.cache.is_new("job", job) and not is_stored:
        known = commit.cache.edges[job, io] = {}
    if known is None:
        rows = commit.session.all(
            "SELECT dataset, since FROM edge WHERE job = ? AND io = ? AND until = ?",
            job, io, FOREVER,
        )  # fmt: skip
        known = commit.cache.edges[job, io] = {row[0]: row[1] for row in rows}
    return known


def define(job: JobRow, io: int, run: int | None, since: int | None, seen: int) -> None:
    """Note the run that defines a side of a job, since when, and the last change of the side."""
    if io == INPUT:
        job.inputs_run, job.inputs_since, job.inputs_seen = run, since, max(job.inputs_seen, seen)
    else:
        job.outputs_run, job.outputs_since, job.outputs_seen = (
            run,
            since,
            max(job.outputs_seen, seen),
        )


def _definer_before(
    commit: Commit, job: int, column: str, start: int
) -> tuple[int | None, int | None]:
    rows = commit.session.all(
        f"SELECT id, {column} FROM run WHERE job = ? AND {column} < ? "
        f"ORDER BY {column} DESC, uuid DESC LIMIT 1", job, start,
    )  # fmt: skip
    return (rows[0][0], rows[0][1]) if rows else (None, None)


class _Definer(NamedTuple):
    """A run, when it began to define a side, and the runs it adds up with."""

    run: int
    since: int
    group: bytes


class _Named:
    """What groups of runs named, and when; runs are taken in the order in which they began."""

    def __init__(self, commit: Commit, io: int, definers: list[_Definer]) -> None:
        rows = commit.session.all(
            "SELECT run, dataset, min(since) FROM run_io WHERE run = ANY(?) AND io IN (?, ?) "
            "GROUP BY run, dataset",
            [definer.run for definer in definers], io, MAPPED if io == INPUT else io,
        )  # fmt: skip
        self._by_run: dict[int, dict[int, int]] = {}
        for run, dataset, since in rows:
            self._by_run.setdefault(run, {})[dataset] = since
        self._by_group: dict[bytes, dict[int, int]] = {}

    def take(self, definer: _Definer) -> int:
        """Add what a run named to its group; give the last moment of that."""
        together, last = self._by_group.setdefault(definer.group, {}), definer.since
        for dataset, first in self._by_run.get(definer.run, {}).items():
            since = max(first, definer.since)
            together[dataset] = min(since, together.get(dataset, since))
            last = max(last, since)
        return last

    def by(self, group: bytes) -> dict[int, int]:
        """What a group has named, and since when."""
        return self._by_group[group]


def _spans(
    commit: Commit, io: int, earlier: list[_Definer], definers: list[_Definer]
) -> tuple[dict[int, list[tuple[int, int]]], int]:
    """Per dataset, when the definers named it, each group until another one did."""
    named = _Named(commit, io, earlier + definers)
    for definer in earlier:
        named.take(definer)
    spans: dict[int, list[tuple[int, int]]] = {}
    seen, place = 0, 0
    while place < len(definers):
        first = definers[place]
        while place < len(definers) and definers[place].group == first.group:
            seen = max(seen, named.take(definers[place]))
            place += 1
        ended = definers[place].since if place < len(definers) else FOREVER
        for dataset, since in named.by(first.group).items():
            if max(since, first.since) < ended:
                _append(spans.setdefault(dataset, []), max(since, first.since), ended)
    return spans, seen


def _append(pairs: list[tuple[int, int]], since: int, until: int) -> None:
    if pairs and pairs[-1][1] == since:
        pairs[-1] = (pairs[-1][0], until)
    else:
        pairs.append((since, until))


def _join_earlier(
    commit: Commit, job: int, io: int, start: int, spans: dict[int, list[tuple[int, int]]]
) -> None:
    """Cut what was there at the start, keeping its earlier part."""
    rows = commit.session.all(
        "SELECT dataset, since FROM edge WHERE job = ? AND io = ? AND until >= ? AND since < ?",
        job, io, start, start,
    )  # fmt: skip
    commit.session.run("DELETE FROM edge WHERE job = ? AND io = ? AND until >= ?", job, io, start)
    for dataset, since in rows:
        pairs = spans.setdefault(dataset, [])
        if pairs and pairs[0][0] == start:
            pairs[0] = (since, pairs[0][1])
        else:
            pairs.insert(0, (since, start))
