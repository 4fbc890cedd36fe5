"""Where a snapshot of a table came from: the run that made it, what that read, and so on upstream.

The run that made a snapshot tells its micro-batch and offsets, or the versions of the tables that
it read. What is behind such a table is every commit into it until then: a superset.
"""

from typing import Literal, NamedTuple

import msgspec

from headwater.api.records import VersionRead, Write
from headwater.api.runs import Offsets
from headwater.openlineage.facets import CommitProgress, ProgressFacet, read_leniently
from headwater.openlineage.names import DatasetName, JobName
from headwater.openlineage.sessions import SESSION
from headwater.server.lineage.facets import FacetBook, run_facets
from headwater.server.lineage.jobs import job_names
from headwater.server.lineage.makers import MadeBy, made_by, told_by_next
from headwater.server.lineage.read_versions import versions_told
from headwater.server.lineage.reports import Kept, extents, reports
from headwater.server.lineage.run_io import dataset_names
from headwater.server.lineage.runs import LISTED
from headwater.server.lineage.state import bounded
from headwater.server.lineage.view import StoreView, moment, uuid_text
from headwater.server.store.rows import RunRow
from headwater.server.store.tables import INPUT, OUTPUT

_MOST = 200  # writes in one answer
_INPUTS = 2000  # of all writes in one answer
_REPORTS = 20  # of a run, of which one tells its positions

_STATE = "it keeps state: the row may hold records of earlier batches as well"
_EVENTS = "its report tells the offsets of several commits together"
_BEFORE = "of all that was written before the table was read"
_LATER_SNAPSHOTS = (
    "SELECT 1 FROM snapshot s JOIN event e ON e.seq = s.seq WHERE s.run = ? AND e.time > ? LIMIT 1"
)


class Why(NamedTuple):
    """The writes behind a snapshot, the one that made it first."""

    writes: list[Write]
    is_complete: bool


class _Table(NamedTuple):
    """A table as a run read it; the time is that of the read."""

    root: int
    snapshot: str | None
    until: int


def why(view: StoreView, root: int, snapshot: str, watermark: int | None = None) -> Why | None:
    """Follow a snapshot upstream; None where no event tells of it.

    What keeps state may have read its records long before; not before its watermark had come
    close to their time, if that is given.
    """
    made = made_by(view, root, snapshot)
    if made is None:
        return None
    walk = _Walk(view)
    walk.begin(made, root, snapshot, watermark)
    while walk.waiting and not walk.is_full:
        walk.follow(walk.waiting.pop(0))
    return Why(walk.writes, not walk.waiting and not walk.is_full)


class _Walk:
    """A walk upstream from table to table, by the runs between them."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self._seen: set[tuple[int, int]] = set()  # table and run
        self._followed: dict[int, int] = {}  # tables, each until the latest read of it
        self._inputs_left = _INPUTS
        self.waiting: list[_Table] = []
        self.writes: list[Write] = []

    @property
    def is_full(self) -> bool:
        """Whether the answer holds as much as it may."""
        return len(self.writes) >= _MOST or self._inputs_left <= 0

    def begin(self, made: MadeBy, root: int, snapshot: str, watermark: int | None) -> None:
        """Begin with the run that made the snapshot."""
        run = self._run(made.run)
        offsets, reason = made.offsets, None
        if made.facet.watermark is not None or made.facet.state_rows:
            offsets, reason = _until(made), _STATE
            if watermark is not None:
                offsets = bounded(self._view, run, offsets, made.time, watermark)
        elif offsets and made.commit is None and len(made.facet.snapshots or ()) > 1:
            reason = _EVENTS
        batch = made.commit.batch if made.commit else None
        self._add(run, _Table(root, snapshot, made.time), made.time, batch, offsets, reason)
        if reason == _STATE:
            self.writes[-1].stateful, self.writes[-1].committed = True, made.offsets

    def follow(self, table: _Table) -> None:
        """Go on with every run that wrote the table before it was read."""
        if table.until <= self._followed.get(table.root, -1):
            return
        self._followed[table.root] = table.until
        own, params = self._view.scope.has_job("r.job")
        rows = self._view.session.all(
            "SELECT r.* FROM run r WHERE r.id IN (SELECT io.run FROM dataset d "
            "JOIN run_io io ON io.dataset = d.id AND io.io = ? WHERE d.root = ?) "
            f"AND r.{LISTED} AND r.created_at <= ?{own} "
            "ORDER BY r.created_at DESC, r.uuid LIMIT ?",
            OUTPUT, table.root, table.until, *params, _MOST + 1,
        )  # fmt: skip
        made = made_by(self._view, table.root, table.snapshot) if table.snapshot else None
        job = self._run(made.run).job if made else None
        for run in map(RunRow.of, rows):
            # The reports of other jobs may arrive after that of the snapshot.
            limit = made.time if made and run.job == job else table.until
            if (table.root, run.id) in self._seen or self.is_full or run.created_at > limit:
                continue
            until = min(limit, run.ended_at or limit)
            offsets = _offsets(self._view, run, until)
            is_maker = made is not None and run.id == made.run
            if made and is_maker:
                _cut(offsets, made.offsets)
            written = table if is_maker else table._replace(snapshot=None)
            self._add(run, written, until, None, offsets, _BEFORE)

    def _add(
        self, run: RunRow, table: _Table, at: int, batch: int | None, offsets: Offsets,
        reason: str | None,
    ) -> None:  # fmt: skip
        self._seen.add((table.root, run.id))
        inputs = self._inputs(run)
        self._inputs_left -= len(inputs)
        roots = {table.root, *(root for root, _ in inputs)}
        names = dataset_names(self._view, roots)
        job = job_names(self._view, {run.job})[run.job]
        self.writes.append(
            Write(
                str(JobName(*job)),
                *job,
                uuid_text(run.uuid),
                run.state,
                moment(at),
                batch,
                _read(names[table.root], table.snapshot),
                offsets,
                [_read(names[root], version) for root, version in inputs],
                reason is None,
                reason,
                settings=self._settings(run),
            )
        )
        for root, version in inputs:
            if not names[root][0].startswith("kafka:"):
                self.waiting.append(_Table(root, version, at))

    def _inputs(self, run: RunRow) -> list[tuple[int, str | None]]:
        rows = self._view.session.all(
            "SELECT DISTINCT d.root FROM run_io io JOIN dataset d ON d.id = io.dataset "
            "WHERE io.run = ? AND io.io = ? ORDER BY d.root LIMIT ?",
            run.id, INPUT, self._inputs_left,
        )  # fmt: skip
        told = (
            (root, versions_told(self._view, root, INPUT, [run.id]).get(run.id)) for (root,) in rows
        )
        return [*told]

    def _settings(self, run: RunRow) -> dict[str, str]:
        stamp = run.facets.get(SESSION)
        if stamp is None:
            return {}
        wanted = run_facets({SESSION: stamp})
        facet = read_leniently(FacetBook(self._view, [wanted]).get(wanted), SESSION)
        return facet.constant() if facet is not None else {}

    def _run(self, number: int) -> RunRow:
        return RunRow.of(self._view.session.all("SELECT * FROM run WHERE id = ?", number)[0])


def _offsets(view: StoreView, run: RunRow, until: int) -> Offsets:
    """From where to where a run had read its topics until a time."""
    ends: tuple[tuple[Literal["from", "to"], str, int], ...] = (
        ("from", "time >= ? ORDER BY time, seq", run.created_at),
        ("to", "time <= ? ORDER BY time DESC, seq DESC", until),
    )
    kept = Kept(view.budget)
    for side, which, time in ends:
        rows = view.session.all(
            f"SELECT seq FROM event WHERE run = ? AND {which} LIMIT ?", run.id, time, _REPORTS
        )
        for _, facet in reports(view, [row[0] for row in rows]):
            for (topic, partition), (start, end) in extents(facet).items():
                known = kept.span(topic, partition, None, None)
                place = start if side == "from" else end
                known[side] = place if known[side] is None else known[side]
    if not view.session.all(_LATER_SNAPSHOTS, run.id, until):
        _add(kept, told_by_next(view, run))
    return kept.offsets


def _add(kept: Kept, commits: list[CommitProgress]) -> None:
    """Let offsets reach as far as some commits."""
    for (topic, partition), (start, end) in extents(_facet(commits)).items():
        known = kept.span(topic, partition, start, end)
        known["to"] = end if known["to"] is None else max(known["to"], end)


def _cut(offsets: Offsets, last: Offsets) -> None:
    """End offsets where those of a last commit end."""
    for topic, partitions in last.items():
        for partition, span in partitions.items():
            known = offsets.get(topic, {}).get(partition)
            if known is not None and known["to"] is not None and span["to"] is not None:
                known["to"] = min(known["to"], span["to"])


def _until(made: MadeBy) -> Offsets:
    """All that was read up to a commit; one that only closes windows reads nothing itself."""
    last = made.commit.batch if made.commit else None
    commits = [
        one
        for one in made.facet.commits or ()
        if last is None or one.batch is None or one.batch <= last
    ]
    found: Offsets = {}
    spans = extents(_facet(commits)) or extents(made.facet)
    for (topic, partition), (_, end) in spans.items():
        found.setdefault(topic, {})[partition] = {"from": None, "to": end}
    return found


def _facet(commits: list[CommitProgress]) -> ProgressFacet:
    """Commits, whichever run tells of them."""
    return ProgressFacet(commits=[msgspec.structs.replace(one, recovered=False) for one in commits])


def _read(name: tuple[str, str], snapshot: str | None) -> VersionRead:
    return VersionRead(str(DatasetName(*name)), *name, snapshot)
