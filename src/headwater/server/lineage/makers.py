"""The runs that made snapshots of tables, and the Kafka offsets that went into these."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.api.datasets import SnapshotOffsets
from headwater.api.runs import Offsets
from headwater.openlineage.facets import CommitProgress, ProgressFacet
from headwater.server.lineage.reports import Kept, offsets_of, reports
from headwater.server.lineage.runs import LISTED
from headwater.server.lineage.view import StoreView, moment, uuid_text
from headwater.server.store.rows import RunRow

_HAS_SNAPSHOTS = " AND EXISTS (SELECT 1 FROM snapshot s WHERE s.run = r.id)"
# By the first event of a run that wrote a dataset.
_REPORTED = (
    "FROM snapshot s JOIN run r ON r.id = s.run JOIN event e ON e.seq = s.seq WHERE {} "
    "AND EXISTS (SELECT 1 FROM run_io io JOIN dataset d ON d.id = io.dataset "
    "WHERE io.run = s.run AND io.io = 1 AND d.root = ?)"
)
_FIRST = (
    f"SELECT s.seq, r.id, r.uuid, e.time {_REPORTED.format('s.id = ?')} "
    "ORDER BY e.time, s.seq LIMIT 1"
)
_FIRST_OF_EACH = (
    "SELECT id, seq, run, uuid, time FROM (SELECT s.id, s.seq, r.id AS run, r.uuid, e.time, "
    "row_number() OVER (PARTITION BY s.id ORDER BY e.time, s.seq) AS place "
    f"{_REPORTED.format('s.id = ANY(?)')}) AS told WHERE place = 1"
)


class Report(NamedTuple):
    """The event that first reported a snapshot, and its run."""

    seq: int
    run: int
    uuid: bytes
    time: int

    def by(self, maker: RunRow | None) -> "Report":
        """The same by the run that made the snapshot, if that is another one."""
        if maker is None:
            return self
        return Report(self.seq, maker.id, maker.uuid, min(self.time, maker.updated_at))


class MadeBy(NamedTuple):
    """The run that made a snapshot, as the event that first reported it tells.

    That event may be of the next run, where the one that made it was killed before it could tell.
    """

    run: int
    uuid: bytes
    time: int
    facet: ProgressFacet
    commit: CommitProgress | None  # none where the event tells of several commits together
    offsets: Offsets  # that went into the snapshot


def made_by(view: StoreView, dataset: int, snapshot: str) -> MadeBy | None:
    """What made a snapshot of a dataset; None where no event tells of it.

    Raises: AnswerTooLarge.
    """
    rows = view.session.all(_FIRST, snapshot, dataset)
    if not rows:
        return None
    report = Report(*rows[0])
    if not view.scope.own_runs([report.run]):
        return None
    facet = next((facet for _, facet in reports(view, [report.seq])), ProgressFacet())
    commit = next((one for one in facet.commits or () if one.snapshot == snapshot), None)
    if commit is not None and commit.recovered:
        report = report.by(_maker_before(view, report))
    offsets = offsets_of(commit) if commit else Kept(view.budget).extend([facet])
    return MadeBy(report.run, report.uuid, report.time, facet, commit, offsets)


def first_reports_of(view: StoreView, dataset: int, snapshots: list[str]) -> dict[str, Report]:
    """The first reports on snapshots of a dataset, of those that the view may tell."""
    rows = view.session.all(_FIRST_OF_EACH, snapshots, dataset) if snapshots else []
    own = view.scope.own_runs(row[2] for row in rows)
    return {row[0]: Report(*row[1:]) for row in rows if row[2] in own}


def by_makers(view: StoreView, first: dict[str, Report]) -> dict[str, Report]:
    """The same reports by the runs that made the snapshots; each event is opened once.

    Raises: AnswerTooLarge.
    """
    by_event: dict[int, list[str]] = {}
    for snapshot, report in first.items():
        by_event.setdefault(report.seq, []).append(snapshot)
    found = {**first}
    for seq, facet in reports(view, [*by_event]):
        recovered = _recovered(facet, {*by_event[seq]})
        maker = _maker_before(view, first[by_event[seq][0]]) if recovered else None
        found |= {one: first[one].by(maker) for one in recovered}
    return found


def _recovered(facet: ProgressFacet, wanted: set[str]) -> list[str]:
    """Those of some snapshots whose first commit in a report was made before its run."""
    commits = {one.snapshot: one for one in reversed(facet.commits or ()) if one.snapshot in wanted}
    return [snapshot for snapshot, one in commits.items() if snapshot and one.recovered]


def _maker_before(view: StoreView, report: Report) -> RunRow | None:
    """The run that made what a report repeats, if it is another one.

    Later in a run its query was started again, and repeats commits of the run itself.
    """
    is_first = report.seq in _first_report(view, report.run)
    return run_before(view, report.run) if is_first else None


def run_before(view: StoreView, run: int) -> RunRow | None:
    """The run of the same job before one, the latest that reported snapshots if any did."""
    for condition in (_HAS_SNAPSHOTS, ""):
        rows = view.session.all(
            "SELECT r.* FROM run r JOIN run o ON o.id = ? WHERE r.job = o.job "
            f"AND r.created_at < o.created_at AND r.{LISTED}{condition} "
            "ORDER BY r.created_at DESC, r.uuid DESC LIMIT 1", run,
        )  # fmt: skip
        if rows:
            return RunRow.of(rows[0])
    return None


def told_by_next(view: StoreView, run: RunRow) -> list[CommitProgress]:
    """The commits of a run that the next one tells of: it may have been killed before it could."""
    rows = view.session.all(
        f"SELECT r.id FROM run r WHERE r.job = ? AND r.created_at > ? AND r.{LISTED}"
        f"{_HAS_SNAPSHOTS} ORDER BY r.created_at, r.uuid LIMIT 1", run.job, run.created_at,
    )  # fmt: skip
    if not rows:
        return []
    commits = _first_told(view, rows[0][0])
    before = run_before(view, rows[0][0]) if commits else None
    return commits if before is not None and before.id == run.id else []


def _first_told(view: StoreView, run: int) -> list[CommitProgress]:
    """The commits that were made before a run, and that nobody told of before its first report."""
    found = []
    for seq, facet in reports(view, _first_report(view, run)):
        commits = [commit for commit in facet.commits or () if commit.recovered]
        rows = view.session.all(
            "SELECT DISTINCT s.id FROM snapshot s JOIN event e ON e.seq = s.seq "
            "WHERE s.id = ANY(?) AND e.time < (SELECT time FROM event WHERE seq = ?)",
            [commit.snapshot for commit in commits if commit.snapshot], seq,
        )  # fmt: skip
        known = {row[0] for row in rows}
        found += [commit for commit in commits if commit.snapshot not in known]
    return found


def first_reports(view: StoreView, run: int) -> Iterable[tuple[int, ProgressFacet]]:
    """The first report of a run that tells of snapshots, if there is any, and its time."""
    for seq, facet in reports(view, _first_report(view, run)):
        ((time,),) = view.session.all("SELECT time FROM event WHERE seq = ?", seq)
        yield time, facet


def _first_report(view: StoreView, run: int) -> list[int]:
    rows = view.session.all(
        "SELECT e.seq FROM event e JOIN snapshot s ON s.seq = e.seq AND s.run = e.run "
        "WHERE e.run = ? ORDER BY e.time, e.seq LIMIT 1", run,
    )  # fmt: skip
    return [row[0] for row in rows]


def snapshot_offsets(view: StoreView, dataset: int, snapshot: str) -> SnapshotOffsets | None:
    """The Kafka offsets that went into a snapshot; None where no event tells of it.

    An event may tell of several snapshots, and not of the commits that made them: then the offsets
    are those of all of them.
    """
    found = made_by(view, dataset, snapshot)
    if found is None:
        return None
    commit = found.commit
    return SnapshotOffsets(
        snapshot,
        uuid_text(found.uuid),
        moment(found.time),
        [snapshot] if commit else found.facet.snapshots or [],
        found.offsets,
        commit.batch if commit else None,
        commit.sequence if commit else None,
    )
