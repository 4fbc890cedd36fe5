"""What a job reads and writes over time.

Inputs and outputs are two sides, each with its own history. On each side the run that last
began to name datasets speaks for the job, together with the runs that it adds up with
(`RunRow.group`), with all that they have named so far. A run that completes without naming a
side speaks for that side too: it has none.
"""

from typing import NamedTuple

from headwater.openlineage.times import FOREVER
from headwater.server.store.feed import EDGE_ADDED, EDGE_REMOVED
from headwater.server.store.rows import JobRow, RunRow, group_of
from headwater.server.store.tables import INPUT, MAPPED, OUTPUT, insert
from headwater.server.store.unit import Unit

_INSERT = insert("edge")
_CLOSE = (
    "UPDATE edge SET until = ? WHERE job = ? AND io = ? AND dataset = ? "
    f"AND until = {FOREVER}"
)  # fmt: skip


class Change(NamedTuple):
    """What an event changed of a run on one side.

    `named` has, of each dataset that is new to the run or is now known to have been named
    earlier, when it was first named; `before` is when the run began to speak, as known
    until now.
    """

    io: int
    named: dict[int, int]
    renamed: bool
    before: int | None


def update_edges(unit: Unit, job: JobRow, run: RunRow, change: Change) -> None:
    """Bring the job's edges of one side up to date."""
    since = run.in_since if change.io == INPUT else run.out_since
    if not change.named and since == change.before:
        return
    current, current_since, seen = _current(job, change.io)
    starts = set(change.named.values())
    is_awaited = (job.id, change.io) in unit.rebuilds
    if not change.renamed and since is not None and not is_awaited:
        is_together = current is not None and unit.run_row(current).group == run.group
        # At the very moment of another change there may be an edge to join with.
        if is_together and since == change.before and min(starts, default=FOREVER) > seen:
            _open(unit, job, change.io, change.named)
            _speak(job, change.io, current, current_since, max(starts, default=seen))
            return
        begins = change.before is None and starts <= {since} and since > seen
        if begins and (current_since is None or since > current_since):
            if is_together:
                _open(unit, job, change.io, change.named)
            elif not _spoke_before(unit, job, change.io, run):
                _replace(unit, job, change.io, set(change.named), since)
            else:
                _rebuild_later(unit, job, change.io, since)
                return
            _speak(job, change.io, run.id, since, since)
            return
    times = [*starts, *(t for t in (since, change.before) if t is not None)]
    _rebuild_later(unit, job, change.io, min(times))


def move_edges(unit: Unit, run: RunRow, left: JobRow, joined: JobRow) -> None:
    """Bring the edges of two jobs up to date when a run turns out to be of the other."""
    for io, since in ((INPUT, run.in_since), (OUTPUT, run.out_since)):
        if since is not None:
            unit.changed_runs.add(run.id)
            _rebuild_later(unit, left, io, since)
            _rebuild_later(unit, joined, io, since)
    unit.changed_jobs |= {left.id, joined.id}
    unit.changed_runs.add(run.id)


def regroup_edges(unit: Unit, run: RunRow, job: JobRow) -> None:
    """Bring the edges of a job up to date when a run turns out to add up with others."""
    unit.changed_runs.add(run.id)
    for io, since in ((INPUT, run.in_since), (OUTPUT, run.out_since)):
        if since is not None:
            _rebuild_later(unit, job, io, since)
    unit.changed_jobs.add(job.id)


def settle_edges(unit: Unit) -> None:
    """Make edges anew where events of a commit arrived out of order: each side of a job once."""
    rebuilds, unit.rebuilds = unit.rebuilds, {}
    for (number, io), moment in rebuilds.items():
        job = unit.job_row(number)
        _rebuild(unit, job, io, moment)
        unit.changed_jobs.add(number)


def _rebuild_later(unit: Unit, job: JobRow, io: int, moment: int) -> None:
    """Have the edges of a side made anew from a moment on, when the commit is settled."""
    key = job.id, io
    unit.rebuilds[key] = min(moment, unit.rebuilds.get(key, moment))


def _spoke_before(unit: Unit, job: JobRow, io: int, run: RunRow) -> bool:
    """Whether a run that this one adds up with has named datasets: they count again."""
    if run.first_parent is None:
        return False
    unit.flush()
    column = "in_since" if io == INPUT else "out_since"
    rows = unit.session.all(
        f"SELECT 1 FROM run WHERE first_parent = ? AND job = ? AND {column} IS NOT NULL "
        "AND id <> ? LIMIT 1", run.first_parent, job.id, run.id,
    )  # fmt: skip
    return bool(rows)


def _current(job: JobRow, io: int) -> tuple[int | None, int | None, int]:
    if io == INPUT:
        return job.in_run, job.in_since, job.in_seen
    return job.out_run, job.out_since, job.out_seen


def _speak(job: JobRow, io: int, run: int | None, since: int | None, seen: int) -> None:
    if io == INPUT:
        job.in_run, job.in_since, job.in_seen = run, since, max(job.in_seen, seen)
    else:
        job.out_run, job.out_since, job.out_seen = run, since, max(job.out_seen, seen)


def _open_edges(unit: Unit, job: int, io: int, *, is_stored: bool = False) -> dict[int, int]:
    known = unit.edges.get((job, io))
    if known is None and unit.is_ours("job", job) and not is_stored:
        known = unit.edges[job, io] = {}
    if known is None:
        rows = unit.session.all(
            "SELECT dataset, since FROM edge WHERE job = ? AND io = ? AND until = ?",
            job, io, FOREVER,
        )  # fmt: skip
        known = unit.edges[job, io] = {row[0]: row[1] for row in rows}
    return known


def _open(unit: Unit, job: JobRow, io: int, named: dict[int, int]) -> None:
    edges = _open_edges(unit, job.id, io)
    new = [(job.id, io, d, since, FOREVER) for d, since in named.items() if d not in edges]
    unit.session.many(_INSERT, new)
    edges.update({row[2]: row[3] for row in new})
    for _, _, dataset, since, _ in new:
        unit.feed.graph(EDGE_ADDED, since, job=job.id, dataset=dataset)


def _replace(unit: Unit, job: JobRow, io: int, datasets: set[int], since: int) -> None:
    edges = _open_edges(unit, job.id, io)
    for dataset in edges.keys() - datasets:
        unit.session.run(_CLOSE, since, job.id, io, dataset)
        unit.feed.graph(EDGE_REMOVED, since, job=job.id, dataset=dataset)
        del edges[dataset]
    _open(unit, job, io, dict.fromkeys(datasets, since))


def _rebuild(unit: Unit, job: JobRow, io: int, moment: int) -> None:
    """Make the edges of a side anew from a moment on: something arrived out of order."""
    unit.flush()
    column = "in_since" if io == INPUT else "out_since"
    ((start,),) = unit.session.all(
        f"SELECT coalesce(max({column}), ?) FROM run WHERE job = ? AND {column} <= ?",
        moment, job.id, moment,
    )  # fmt: skip
    rows = unit.session.all(
        f"SELECT id, {column}, uuid, first_parent FROM run WHERE job = ? AND {column} >= ? "
        f"ORDER BY {column}, uuid", job.id, start,
    )  # fmt: skip
    speakers = [_Speaker(row[0], row[1], group_of(bytes(row[2]), row[3])) for row in rows]
    earlier: list[_Speaker] = []
    for parent in {bytes(row[3]) for row in rows if row[3] is not None}:
        found = unit.session.all(
            f"SELECT id, {column} FROM run WHERE first_parent = ? AND job = ? AND {column} < ?",
            parent, job.id, start,
        )  # fmt: skip
        earlier += [_Speaker(row[0], row[1], group_of(b"", parent)) for row in found]
    spans, seen = _spans(unit, io, earlier, speakers)
    _join_earlier(unit, job.id, io, start, spans)
    unit.session.many(
        _INSERT,
        [(job.id, io, d, since, until) for d, pairs in spans.items() for since, until in pairs],
    )
    before = unit.edges.pop((job.id, io), {}).keys()
    now = _open_edges(unit, job.id, io, is_stored=True).keys()
    for kind, changed in ((EDGE_ADDED, now - before), (EDGE_REMOVED, before - now)):
        for dataset in changed:
            unit.feed.graph(kind, moment, job=job.id, dataset=dataset)
    run, since = speakers[-1][:2] if speakers else _speaker_before(unit, job.id, column, start)
    _speak(job, io, run, since, seen)


def _speaker_before(unit: Unit, job: int, column: str, start: int) -> tuple[int | None, int | None]:
    rows = unit.session.all(
        f"SELECT id, {column} FROM run WHERE job = ? AND {column} < ? "
        f"ORDER BY {column} DESC, uuid DESC LIMIT 1", job, start,
    )  # fmt: skip
    return (rows[0][0], rows[0][1]) if rows else (None, None)


class _Speaker(NamedTuple):
    """A run, when it began to speak for a side, and the runs it adds up with."""

    run: int
    since: int
    group: bytes


class _Named:
    """What groups of runs named, and when; runs are taken in the order in which they began."""

    def __init__(self, unit: Unit, io: int, speakers: list[_Speaker]) -> None:
        rows = unit.session.all(
            "SELECT run, dataset, min(since) FROM run_io WHERE run = ANY(?) AND io IN (?, ?) "
            "GROUP BY run, dataset",
            [speaker.run for speaker in speakers], io, MAPPED if io == INPUT else io,
        )  # fmt: skip
        self._by_run: dict[int, dict[int, int]] = {}
        for run, dataset, since in rows:
            self._by_run.setdefault(run, {})[dataset] = since
        self._by_group: dict[bytes, dict[int, int]] = {}

    def take(self, speaker: _Speaker) -> int:
        """Add what a run named to its group; give the last moment of that."""
        together, last = self._by_group.setdefault(speaker.group, {}), speaker.since
        for dataset, first in self._by_run.get(speaker.run, {}).items():
            since = max(first, speaker.since)
            together[dataset] = min(since, together.get(dataset, since))
            last = max(last, since)
        return last

    def by(self, group: bytes) -> dict[int, int]:
        """What a group has named, and since when."""
        return self._by_group[group]


def _spans(
    unit: Unit, io: int, earlier: list[_Speaker], speakers: list[_Speaker]
) -> tuple[dict[int, list[tuple[int, int]]], int]:
    """Per dataset, when the speakers named it, each group until another one spoke."""
    named = _Named(unit, io, earlier + speakers)
    for speaker in earlier:
        named.take(speaker)
    spans: dict[int, list[tuple[int, int]]] = {}
    seen, place = 0, 0
    while place < len(speakers):
        first = speakers[place]
        while place < len(speakers) and speakers[place].group == first.group:
            seen = max(seen, named.take(speakers[place]))
            place += 1
        ended = speakers[place].since if place < len(speakers) else FOREVER
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
    unit: Unit, job: int, io: int, start: int, spans: dict[int, list[tuple[int, int]]]
) -> None:
    """Cut what was there at the start, keeping its earlier part."""
    rows = unit.session.all(
        "SELECT dataset, since FROM edge WHERE job = ? AND io = ? AND until >= ? AND since < ?",
        job, io, start, start,
    )  # fmt: skip
    unit.session.run("DELETE FROM edge WHERE job = ? AND io = ? AND until >= ?", job, io, start)
    for dataset, since in rows:
        pairs = spans.setdefault(dataset, [])
        if pairs and pairs[0][0] == start:
            pairs[0] = (since, pairs[0][1])
        else:
            pairs.insert(0, (since, start))
