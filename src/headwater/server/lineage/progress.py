"""How a streaming run went on, and the Iceberg snapshots that runs left: from what its events tell.

The work is bounded: of a long run the latest events are looked at, and of many an even choice.
"""

from collections.abc import Iterator
from typing import Any

from headwater.api.datasets import Snapshot
from headwater.api.runs import ProgressPoint
from headwater.openlineage.facets import ProgressFacet, snapshot_ids
from headwater.server.lineage.makers import Report, by_makers, first_reports_of
from headwater.server.lineage.reports import reports, some_reports
from headwater.server.lineage.view import StoreView, moment, uuid_text
from headwater.server.store.tables import OUTPUT

_LATEST = 2_000  # events of a run that are looked at
_POINTS = 300
_SNAPSHOTS = 50
_RESOLVED = 4 * _SNAPSHOTS  # of which the run that made them may be an earlier one
_LAST = 200  # snapshots of a report, and of those that it repeats


def points(view: StoreView, run: int) -> list[ProgressPoint]:
    """The progress of a run over time, oldest first."""
    rows = _latest(view, run, _LATEST)
    step = -(-len(rows) // _POINTS) if rows else 1
    return [_point(time, facet) for time, facet in _progress(view, rows[::step][::-1])]


def _point(time: int, facet: ProgressFacet) -> ProgressPoint:
    rate = facet.processed_rows_per_second
    lags = [source.lag for source in facet.sources or () if source.lag is not None]
    return ProgressPoint(
        moment(time),
        facet.rows,
        facet.input_rows_per_second if rate is None else rate,
        max(lags, default=None),
    )


def snapshots(view: StoreView, root: int) -> list[Snapshot]:
    """The latest snapshots of a dataset, newest first.

    Raises: AnswerTooLarge.
    """
    found, repeated = _reported(view, root)
    # Their own report may be further back.
    first = first_reports_of(view, root, [one for one in repeated if one in found])
    found |= {one: _snapshot(one, report) for one, report in first.items()}
    latest = {one.id for one in _newest(found, _RESOLVED)}
    made = by_makers(view, {one: report for one, report in first.items() if one in latest})
    found = {id_: one for id_, one in found.items() if id_ in latest}
    return _newest(found | {one: _snapshot(one, by) for one, by in made.items()}, _SNAPSHOTS)


def _newest(found: dict[str, Snapshot], most: int) -> list[Snapshot]:
    return sorted(found.values(), key=lambda one: one.at, reverse=True)[:most]


def _snapshot(id_: str, report: Report) -> Snapshot:
    return Snapshot(id_, moment(report.time), uuid_text(report.uuid))


def _reported(view: StoreView, root: int) -> tuple[dict[str, Snapshot], dict[str, None]]:
    """Snapshots in the latest reports on a dataset, and those that a run repeated."""
    rows = view.session.all(
        "SELECT DISTINCT e.time, s.seq, r.uuid, r.id FROM dataset d "
        "JOIN run_io o ON o.dataset = d.id AND o.io = ? JOIN snapshot s ON s.run = o.run "
        "JOIN event e ON e.seq = s.seq JOIN run r ON r.id = s.run "
        "WHERE d.root = ? ORDER BY e.time DESC, s.seq DESC LIMIT ?", OUTPUT, root, _SNAPSHOTS,
    )  # fmt: skip
    events = {seq: (time, uuid, run) for time, seq, uuid, run in rows}
    own = view.scope.own_runs(row[3] for row in rows)
    found, repeated = dict[str, Snapshot](), dict[str, None]()
    for seq, facet in reports(view, [*events]):
        time, uuid, run = events[seq]
        for one in reversed(snapshot_ids(facet)[-_LAST:]):
            # A driver that starts again tells of its latest ones again: the first to tell counts.
            found[one] = Snapshot(one, moment(time), uuid_text(uuid) if run in own else None)
        commits = [one.snapshot for one in facet.commits or () if one.recovered and one.snapshot]
        repeated |= dict.fromkeys(commits[-_LAST:])
    return found, repeated


def _latest(view: StoreView, run: int, most: int) -> list[Any]:
    """Number and time of the latest events of a run, newest first."""
    return view.session.all(
        "SELECT seq, time FROM event WHERE run = ? ORDER BY time DESC, seq DESC LIMIT ?", run, most
    )


def _progress(view: StoreView, rows: list[Any]) -> Iterator[tuple[int, ProgressFacet]]:
    times = dict(rows)
    yield from ((times[seq], facet) for seq, facet in some_reports(view, [*times]))
