"""How a streaming run went on, and the Iceberg snapshots that runs left: from what its events tell.

The work is bounded: of a long run the latest events are looked at, and of many an even choice.
"""

from collections.abc import Iterator
from typing import Any

from headwater.api.datasets import Snapshot
from headwater.api.runs import ProgressPoint
from headwater.openlineage.facets import ProgressFacet
from headwater.server.lineage.run_lineage import progress_facets
from headwater.server.lineage.view import StoreView, moment, uuid_text
from headwater.server.store.tables import OUTPUT

_LATEST = 2_000  # events of a run that are looked at
_POINTS = 300
_SNAPSHOTS = 50


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
    """The latest snapshots of a dataset, newest first."""
    rows = view.session.all(
        "SELECT DISTINCT e.time, s.seq, r.uuid, r.id FROM dataset d "
        "JOIN run_io o ON o.dataset = d.id AND o.io = ? JOIN snapshot s ON s.run = o.run "
        "JOIN event e ON e.seq = s.seq JOIN run r ON r.id = s.run "
        "WHERE d.root = ? ORDER BY e.time DESC, s.seq DESC LIMIT ?", OUTPUT, root, _SNAPSHOTS,
    )  # fmt: skip
    told, own = (
        progress_facets(view, [row[1] for row in rows]),
        view.scope.own_runs(row[3] for row in rows),
    )
    found: dict[str, Snapshot] = {}
    for time, seq, uuid, run in rows:
        facet = told.get(seq)
        for one in reversed((facet and facet.snapshots) or []):
            # A driver that starts again tells of its latest ones again: the first to tell counts.
            found[one] = Snapshot(one, moment(time), uuid_text(uuid) if run in own else None)
    return [*found.values()][:_SNAPSHOTS]


def _latest(view: StoreView, run: int, most: int) -> list[Any]:
    """Number and time of the latest events of a run, newest first."""
    return view.session.all(
        "SELECT seq, time FROM event WHERE run = ? ORDER BY time DESC, seq DESC LIMIT ?", run, most
    )


def _progress(view: StoreView, rows: list[Any]) -> Iterator[tuple[int, ProgressFacet]]:
    facets = progress_facets(view, [seq for seq, _ in rows])
    yield from ((time, facets[seq]) for seq, time in rows if seq in facets)
