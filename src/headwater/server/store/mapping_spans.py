"""By which column mappings a job writes a dataset, and when.

An event is an observation of a run's mapping at its time; the last one of a run counts. The run
that was observed last defines them, together with the runs that it adds up with (`RunRow.group`):
the job writes the dataset by the mappings of all of them. A late observation changes the stretches
that its own group defines, and no others.
"""

from typing import Any, NamedTuple

from headwater.openlineage.times import FOREVER
from headwater.server.store.commit import Commit
from headwater.server.store.feed import COLUMNS_CHANGED
from headwater.server.store.rows import RunRow, group_of
from headwater.server.store.runs import run_ios, run_row
from headwater.server.store.schema_spans import Piece, joined, outside
from headwater.server.store.tables import OUTPUT

_INSERT = "INSERT INTO mapping_span (dataset, job, since, until, mapping) VALUES (?, ?, ?, ?, ?)"
_CLOSE = (
    "UPDATE mapping_span SET until = ? WHERE dataset = ? AND job = ? AND mapping = ? "
    f"AND until = {FOREVER}"
)
_OBSERVED = (
    "SELECT t.time, t.tie, t.run, r.uuid, r.first_parent, t.mapping FROM dataset_observation t "
    "LEFT JOIN run r ON r.id = t.run WHERE t.dataset = ? AND t.job = ? AND t.mapping IS NOT NULL "
)
_NEAR = "WHERE dataset = ? AND job = ? AND until >= ? AND since <= ?"
_NOBODY = b""  # the group of dataset events, each of which counts alone

Place = tuple[int, int]  # a dataset, and the job that writes it (0: none)


class _Observation(NamedTuple):
    time: int
    tie: int
    run: int
    group: bytes
    mapping: int

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> "_Observation":
        time, tie, run, uuid, first_parent, mapping = row
        group = _NOBODY if uuid is None else group_of(bytes(uuid), first_parent)
        return cls(time, tie, run or 0, group, mapping)


class _Latest:
    """The last observation, the mappings of its group by run, and those that are open."""

    __slots__ = ("group", "members", "open", "stamp")

    def __init__(
        self, stamp: tuple[int, int], group: bytes, members: dict[int, int], open_: set[int]
    ) -> None:
        self.stamp, self.group, self.members, self.open = stamp, group, members, open_


def observe_mapping(
    commit: Commit, place: Place, run: RunRow | None, at: tuple[int, int], row: tuple[Any, ...]
) -> None:
    """Store an observation with a mapping (its last column), and bring the spans up to date."""
    key, group = ("mapping_span", *place), run.group if run else _NOBODY
    seen = _Observation(*at, run.id if run else 0, group, row[-1])
    latest: _Latest | None = commit.cache.spans.get(key) or _load(commit, place)
    commit.add("dataset_observation", *row)
    if latest is None:
        _insert(commit, place, [(at[0], FOREVER, seen.mapping)])
        commit.cache.spans[key] = _Latest(at, group, {seen.run: seen.mapping}, {seen.mapping})
    elif _follow(commit, place, latest, seen, run):
        commit.cache.spans[key] = latest
    elif at != latest.stamp:
        commit.flush()
        bounds = None
        if run is not None and run.first_parent is not None:
            bounds = _bounds(commit, place[0], run, run.first_parent)
        # A run alone counts until the next observation, whatever it told before.
        _remake(commit, place, group, seen.time, bounds or (seen.time, seen.time))
        commit.cache.spans[key] = _load(commit, place, is_stored=True)


def regroup_mappings(commit: Commit, run: RunRow, old: bytes | None) -> None:
    """Bring spans up to date when a run turns out to have had another first parent, or none."""
    commit.flush()
    datasets = [dataset for io, dataset, _ in run_ios(commit, run.id) if io == OUTPUT]
    rows = commit.session.all(
        "SELECT dataset, job, min(time) FROM dataset_observation WHERE dataset = ANY(?) "
        "AND run = ? AND mapping IS NOT NULL GROUP BY dataset, job", datasets, run.id,
    )  # fmt: skip
    for dataset, job, since in rows:
        for parent in (old, run.first_parent):
            bounds = _bounds(commit, dataset, run, parent)
            if bounds is not None:
                group = group_of(run.uuid, parent)
                _remake(commit, (dataset, job), group, since, bounds)
        commit.cache.spans["mapping_span", dataset, job] = _load(
            commit, (dataset, job), is_stored=True
        )


def _follow(
    commit: Commit, place: Place, latest: _Latest, seen: _Observation, run: RunRow | None
) -> bool:
    """Take an observation that comes in order; False where spans have to be made anew."""
    at = seen.time, seen.tie
    if at <= latest.stamp:
        return False
    before = latest.members.get(seen.run) if seen.group == latest.group else None
    if before != seen.mapping:
        if seen.time == latest.stamp[0]:
            return False
        if seen.group == latest.group:
            latest.members[seen.run] = seen.mapping
            ended = latest.open - {*latest.members.values()}
        elif run is not None and _wrote_before(commit, place, run):
            return False
        else:
            latest.group, latest.members = seen.group, {seen.run: seen.mapping}
            ended = latest.open - {seen.mapping}
        for mapping in ended:
            commit.session.run(_CLOSE, seen.time, *place, mapping)
            commit.feed.graph(COLUMNS_CHANGED, seen.time, dataset=place[0])
        if seen.mapping not in latest.open:
            _insert(commit, place, [(seen.time, FOREVER, seen.mapping)])
        latest.open = (latest.open - ended) | {seen.mapping}
    latest.stamp = at
    return True


def _wrote_before(commit: Commit, place: Place, run: RunRow) -> bool:
    """Whether a run that this one adds up with wrote the dataset: its mapping counts again."""
    if run.first_parent is None:
        return False
    commit.flush()
    rows = commit.session.all(
        "SELECT 1 FROM run r JOIN run_io io ON io.run = r.id AND io.io = ? AND io.dataset = ? "
        "WHERE r.first_parent = ? AND r.id <> ? LIMIT 1",
        OUTPUT, place[0], run.first_parent, run.id,
    )  # fmt: skip
    return bool(rows)


def _bounds(
    commit: Commit, dataset: int, run: RunRow, parent: bytes | None
) -> tuple[int, int] | None:
    """When the runs of a first parent, or the run alone, first and last wrote a dataset."""
    which, value = ("r.id", run.id) if parent is None else ("r.first_parent", parent)
    ((since, last),) = commit.session.all(
        "SELECT min(io.since), max(io.last) FROM run r "
        "JOIN run_io io ON io.run = r.id AND io.io = ? AND io.dataset = ? "
        f"WHERE {which} = ?", OUTPUT, dataset, value,
    )  # fmt: skip
    return None if since is None else (since, last)


def _load(commit: Commit, place: Place, *, is_stored: bool = False) -> _Latest | None:
    if not is_stored and commit.cache.is_new("dataset", place[0]):
        return None
    rows = commit.session.all(f"{_OBSERVED} ORDER BY t.time DESC, t.tie DESC LIMIT 1", *place)
    if not rows:
        return None
    last = _Observation.of(rows[0])
    members = {last.run: last.mapping}
    if rows[0][4] is not None:
        run = run_row(commit, last.run)
        since, _ = _bounds(commit, place[0], run, run.first_parent) or (last.time, last.time)
        members = {
            seen.run: seen.mapping
            for seen in _observations(commit, place, since, last.time)
            if seen.group == last.group
        }
    found = commit.session.all(
        "SELECT mapping FROM mapping_span WHERE dataset = ? AND job = ? AND until = ?",
        *place, FOREVER,
    )  # fmt: skip
    return _Latest((last.time, last.tie), last.group, members, {row[0] for row in found})


def _observations(commit: Commit, place: Place, since: int, until: int) -> list[_Observation]:
    """The observations from a moment until another, in order, and the first after that."""
    rows = commit.session.all(
        f"{_OBSERVED} AND t.time >= ? AND t.time <= ? ORDER BY t.time, t.tie", *place, since, until
    )
    rows += commit.session.all(
        f"{_OBSERVED} AND t.time > ? ORDER BY t.time, t.tie LIMIT 1", *place, until
    )
    return [_Observation.of(row) for row in rows]


def _remake(
    commit: Commit, place: Place, group: bytes, start: int, bounds: tuple[int, int]
) -> None:
    """Make the stretches anew, from a moment on, that a group defines."""
    seen = _observations(commit, place, min(start, bounds[0]), max(start, bounds[1]))
    untils = [*(later.time for later in seen[1:]), FOREVER]
    members: dict[int, int] = {}
    stretches: list[tuple[int, int, list[Piece]]] = []
    for observed, until in zip(seen, untils, strict=True):
        if observed.group != group:
            continue
        members[observed.run] = observed.mapping
        since = max(observed.time, start)
        if since >= until:
            continue
        pieces = [(since, until, mapping) for mapping in {*members.values()}]
        if stretches and stretches[-1][1] == since:
            since, _, earlier = stretches.pop()
            pieces = earlier + pieces
        stretches.append((since, until, pieces))
    for since, until, pieces in stretches:
        _assign(commit, place, since, until, pieces)


def _assign(commit: Commit, place: Place, since: int, until: int, pieces: list[Piece]) -> None:
    """Put pieces in the place of whatever was there between two moments."""
    near = commit.session.all(f"SELECT since, until, mapping FROM mapping_span {_NEAR}",
                            *place, since, until)  # fmt: skip
    commit.session.run(f"DELETE FROM mapping_span {_NEAR}", *place, since, until)
    _insert(commit, place, joined([*pieces, *outside(near, since, until)]))


def _insert(commit: Commit, place: Place, pieces: list[Piece]) -> None:
    commit.session.many(_INSERT, [(*place, *piece) for piece in pieces])
    for since, *_ in pieces:
        commit.feed.graph(COLUMNS_CHANGED, since, dataset=place[0])
