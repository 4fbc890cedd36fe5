"""What a streaming run committed of the records of a topic, found by offset.

A run reads each partition in order, so that the report on an offset is found by halving the time
that the run took, and not by reading all its reports.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headwater.openlineage.facets import CommitProgress, ProgressFacet, positions
from headwater.server.lineage.makers import first_reports
from headwater.server.lineage.reports import Kept, extents, reports
from headwater.server.lineage.view import StoreView
from headwater.server.store.rows import RunRow

_CLOSE = 1_000_000  # microseconds from which on reports are read one after the other
_PAGE = 5  # reports that are read at once
_LATEST = 20  # reports of a run of which one tells of every partition that it reads
_SNAPSHOTS = (
    "SELECT s.id FROM event e JOIN snapshot s ON s.seq = e.seq AND s.run = e.run "
    "WHERE e.run = ? AND e.time > ? AND e.time < ? ORDER BY e.time, e.seq"
)


# Without those that a query that was started again repeats.
_BETWEEN = (
    "SELECT s.id FROM event e JOIN snapshot s ON s.seq = e.seq AND s.run = e.run "
    "WHERE e.run = ? AND e.time > ? AND e.time < ? AND NOT EXISTS (SELECT 1 FROM snapshot o "
    "JOIN event x ON x.seq = o.seq WHERE o.id = s.id AND x.time <= ?) ORDER BY e.time, e.seq"
)


class Records(NamedTuple):
    """Records of one partition: from the first offset up to the last, which is not included."""

    topics: frozenset[str]  # the names of the topic
    partition: str
    first: int
    last: int


class Committed(NamedTuple):
    """What a run reported of some records."""

    since: int  # when it had not yet read any of them
    batches: list[int]
    snapshots: list[str]
    is_stateful: bool
    is_per_commit: bool  # otherwise all that was committed between two reports is told together
    until: int | None = None  # when it had read all of them that it read; None where it is not told


class _Report(NamedTuple):
    after: int  # when the run had reported before
    at: int
    facet: ProgressFacet


def committed(view: StoreView, run: RunRow, records: Records) -> Committed | None:
    """What the run committed of the records; None where no report tells of any of them."""
    first = next(_reports(view, run, _before(view, run, records, records.first), records), None)
    if first is None:
        return None
    # All that was reported between the first report and this moment lies within the records.
    edge = max(first.at, _before(view, run, records, records.last))
    between = view.session.all(_BETWEEN, run.id, first.at, edge + 1, first.at)
    tally = _Tally(view, records, are_its_own=_has_snapshots(view, run))
    tally.add(first.facet)
    tally.add_snapshots(row[0] for row in between)
    until = first.at
    for one in _reports(view, run, edge, records):
        tally.add(one.facet)
        until = max(until, one.at)
    return Committed(
        first.after,
        [*tally.batches, *_last_batch(view, run, edge, records)],
        [*tally.snapshots],
        tally.is_stateful,
        tally.is_per_commit,
        until,
    )


class _Tally:
    """What reports tell of some records, taken from one report after the other."""

    def __init__(self, view: StoreView, records: Records, *, are_its_own: bool) -> None:
        self._kept, self._records = Kept(view.budget), records
        self._are_its_own = are_its_own  # the snapshots that the run tells of
        self.batches: list[int] = []
        self.snapshots: dict[str, None] = {}
        self.is_stateful, self.is_per_commit = False, True

    def add(self, facet: ProgressFacet) -> None:
        """Take what a report tells."""
        holding = _holding(facet, self._records)
        batches = [commit.batch for commit in holding if commit.batch is not None]
        self._kept.numbers(len(batches))
        self.batches += batches
        if self._are_its_own:
            self.add_snapshots(_snapshots(facet, self._records))
        self.is_stateful |= _is_stateful(facet)
        self.is_per_commit &= bool(holding)

    def add_snapshots(self, snapshots: Iterable[str]) -> None:
        """Take snapshots that hold the records."""
        for one in snapshots:
            if one not in self.snapshots:
                self._kept.texts(one)
                self.snapshots[one] = None


class Recovered(NamedTuple):
    """The commits with any of some records that a run tells of, and that were made before it."""

    commits: list[CommitProgress]
    is_stateful: bool
    at: int  # when it told of them


def recovered(view: StoreView, run: RunRow, records: Records) -> Recovered:
    """The commits with any of the records that were made before the run, and that it tells of."""
    kept, held, is_stateful, at = Kept(view.budget), list[CommitProgress](), False, run.created_at
    for time, facet in first_reports(view, run.id):
        told = [one for one in facet.commits or () if one.recovered and _holds(one, records)]
        kept.texts(*(commit.snapshot for commit in told if commit.snapshot))
        held += told
        is_stateful |= _is_stateful(facet)
        at = time
    return Recovered(held, is_stateful, at)


def _has_snapshots(view: StoreView, run: RunRow) -> bool:
    """Whether what a run tells of snapshots was recorded: it may tell of tables of others."""
    return bool(view.session.all("SELECT 1 FROM snapshot WHERE run = ? LIMIT 1", run.id))


def _is_stateful(facet: ProgressFacet) -> bool:
    return facet.watermark is not None or bool(facet.state_rows)


class Progress:
    """How far runs came in each partition of a topic."""

    def __init__(self, view: StoreView) -> None:
        self._kept = Kept(view.budget)
        self.ends: dict[str, int] = {}

    def add(self, partition: str, end: int) -> None:
        """Take how far a run came in a partition."""
        known = self.ends.get(partition)
        if known is None:
            self._kept.texts(partition)
        self.ends[partition] = end if known is None else max(end, known)


def furthest(view: StoreView, run: RunRow, records: Records, progress: Progress) -> int | None:
    """How far a run came in the partition of the records, as its latest reports tell.

    It is 0 if they tell of other partitions of the topic, and None if they tell of none.
    """
    rows = view.session.all(
        "SELECT seq FROM event WHERE run = ? ORDER BY time DESC, seq DESC LIMIT ?", run.id, _LATEST
    )
    furthest_end = None
    for _, facet in reports(view, [row[0] for row in rows]):
        for (topic, partition), (_, end) in extents(facet).items():
            if topic in records.topics:
                progress.add(partition, max(end, 0))
                own = end if partition == records.partition else 0
                furthest_end = max(own, furthest_end or 0)
    return furthest_end


def _last_batch(view: StoreView, run: RunRow, edge: int, records: Records) -> Iterator[int]:
    """The batch that was the last when the run had read no more than the records."""
    for _, facet in reports_since(view, run, edge):
        ends = [end for _, end in _told(facet, records)]
        if ends:
            if max(ends) <= records.last and facet.batch_id is not None:
                yield facet.batch_id
            return


def snapshots_since(view: StoreView, run: RunRow, since: int) -> list[str]:
    """The snapshots that a run told of after a time."""
    rows = view.session.all(_SNAPSHOTS, run.id, since, run.updated_at + 1)
    return [*dict.fromkeys(row[0] for row in rows)]


def _reports(view: StoreView, run: RunRow, since: int, records: Records) -> Iterator[_Report]:
    """The reports in which the run read any of the records, from a time on."""
    after = since
    for at, facet in reports_since(view, run, since):
        told = [*_told(facet, records)]
        if told and min(start for start, _ in told) >= records.last:
            return
        if any(s < records.last and e > records.first for s, e in _new(facet, records)):
            yield _Report(after, at, facet)
        if told and max(end for _, end in told) >= records.last:
            return
        after = at if told else after


def _before(view: StoreView, run: RunRow, records: Records, offset: int) -> int:
    """A time shortly before the run read an offset, and at which it had not."""
    low, high = run.created_at, run.updated_at
    while high - low > _CLOSE:
        middle = (low + high) // 2
        at, end = _position(view, run, middle, records)
        if end is None or end > offset:
            high = middle
        else:
            low = max(at, middle)
    return low


def _position(view: StoreView, run: RunRow, since: int, records: Records) -> tuple[int, int | None]:
    """How far the run was in the partition by its first report at a time or later."""
    for at, facet in reports_since(view, run, since):
        ends = [end for _, end in _told(facet, records)]
        if ends:
            return at, max(ends)
    return since, None


def reports_since(view: StoreView, run: RunRow, since: int) -> Iterator[tuple[int, ProgressFacet]]:
    """Time and content of a run's reports from a time on.

    Raises: AnswerTooLarge, when the answer may open no more events.
    """
    place = (since, -1)
    while True:
        rows = view.session.all(
            "SELECT time, seq FROM event WHERE run = ? AND (time, seq) > (?, ?) "
            "ORDER BY time, seq LIMIT ?", run.id, *place, _PAGE,
        )  # fmt: skip
        times = {seq: time for time, seq in rows}
        for seq, facet in reports(view, [*times]):
            yield times[seq], facet
        if len(rows) < _PAGE:
            return
        place = rows[-1]


def _snapshots(facet: ProgressFacet, records: Records) -> list[str]:
    holding = _holding(facet, records)
    if not holding:
        repeated = {commit.snapshot for commit in facet.commits or () if commit.recovered}
        return [snapshot for snapshot in facet.snapshots or () if snapshot not in repeated]
    return [commit.snapshot for commit in holding if commit.snapshot]


def _holding(facet: ProgressFacet, records: Records) -> list[CommitProgress]:
    """The commits of a report's own run that hold any of the records."""
    return [c for c in facet.commits or () if not c.recovered and _holds(c, records)]


def _holds(commit: CommitProgress, records: Records) -> bool:
    return any(s < records.last and e > records.first for s, e in _of_commit(commit, records))


def _of_commit(commit: CommitProgress, records: Records) -> Iterator[tuple[int, int]]:
    for topic in records.topics:
        span = (commit.offsets or {}).get(topic, {}).get(records.partition)
        if span is not None:
            yield span[0] or 0, span[1]


def _new(facet: ProgressFacet, records: Records) -> Iterator[tuple[int, int]]:
    """From where to where the partition was read since the report before.

    A report without new commits repeats the positions of the last one.
    """
    if facet.commits is None:
        return _told(facet, records)
    own = [commit for commit in facet.commits if not commit.recovered]
    if any(commit.offsets is None for commit in own):
        return _told(facet, records)
    return (span for commit in own for span in _of_commit(commit, records))


def _told(facet: ProgressFacet, records: Records) -> Iterator[tuple[int, int]]:
    """From where to where a report tells that the partition was read."""
    for source in facet.sources or ():
        begun = {place[:2]: place[2] for place in positions(source.start_offset)}
        for topic, partition, end in positions(source.end_offset):
            if topic in records.topics and partition == records.partition:
                yield begun.get((topic, partition), 0), end
    for commit in facet.commits or ():
        if not commit.recovered:
            yield from _of_commit(commit, records)
