"""What one run read and wrote, and the runs before and after it.

Versions are known of every run; Kafka offsets and Iceberg snapshots as far as its events tell
them (the run facet `headwater_progress`).
"""

from typing import Any

from headwater.api.base import Name
from headwater.api.runs import AdjacentRun, Offsets, Run, RunLineage, RunSide
from headwater.openlineage.names import DatasetName
from headwater.openlineage.times import FOREVER
from headwater.server.lineage.reports import Kept, reports
from headwater.server.lineage.run_io import io_rows, ios_of
from headwater.server.lineage.view import StoreView, uuid_text
from headwater.server.store.rows import RunRow
from headwater.server.store.tables import INPUT, OUTPUT

_MOST = 5000  # events of a run that are looked through, and runs that are listed
_PAGE = 200


def run_lineage(view: StoreView, row: RunRow, run: Run) -> RunLineage:
    """The datasets of a run, and the runs on both sides of it."""
    ios = ios_of(view, io_rows(view, [row.id]))
    offsets, snapshots = _reported(view, row.id)
    inputs, outputs = ios.get((row.id, INPUT), []), ios.get((row.id, OUTPUT), [])
    return RunLineage(
        run,
        [_dataset(io, offsets, []) for io in inputs],
        [_dataset(io, {}, [] if io.name[0].startswith("kafka:") else snapshots) for io in outputs],
        _beside(view, row, [io.dataset for io in inputs], OUTPUT),
        _beside(view, row, [io.dataset for io in outputs], INPUT),
    )


def _dataset(io: Any, offsets: Offsets, snapshots: list[str]) -> RunSide:
    version = uuid_text(io.version) if io.version else None
    return RunSide(str(DatasetName(*io.name)), version, offsets.get(io.name[1]), snapshots)


def _reported(view: StoreView, run: int) -> tuple[Offsets, list[str]]:
    """The offsets and snapshots that a run reported, in order."""
    rows = view.session.all(
        "SELECT seq FROM event WHERE run = ? ORDER BY time, seq LIMIT ?", run, _MOST
    )
    kept, snapshots = Kept(view.budget), dict[str, None]()
    for _, facet in reports(view, [row[0] for row in rows]):
        kept.extend([facet])
        for one in facet.snapshots or ():
            if one not in snapshots:
                kept.texts(one)
                snapshots[one] = None
    return kept.offsets, [*snapshots]


def _beside(view: StoreView, row: RunRow, roots: list[int], io: int) -> list[AdjacentRun]:
    """Runs that wrote what this one read, or read what it wrote, while both were at it."""
    begun, ended = row.created_at, row.ended_at if row.ended_at is not None else FOREVER
    found: dict[tuple[int, int], tuple[Any, ...]] = {}
    own, params = view.scope.within("j.namespace")
    for root in roots:
        first, last = _reach(view, root, begun, ended, io)
        rows = view.session.all(
            "SELECT DISTINCT r.id, r.uuid, jn.name, j.name, m.root, r.created_at "
            "FROM dataset m JOIN run_io o ON o.dataset = m.id AND o.io = ? AND o.since < ? "
            "JOIN run r ON r.id = o.run JOIN job j ON j.id = r.job "
            f"JOIN namespace jn ON jn.id = j.namespace WHERE m.root = ? AND r.id <> ?{own} "
            "AND r.state <> 'DECLARED' AND (o.since >= ? OR r.ended_at IS NULL OR r.ended_at >= ?) "
            "ORDER BY r.created_at DESC LIMIT ?",
            io, last, root, row.id, *params, first, begun, _PAGE,
        )  # fmt: skip
        found |= {(one[0], root): one for one in rows}
    ordered = sorted(found.values(), key=lambda one: (one[5], one[1]))
    names = view.names.of(one[4] for one in ordered)
    return [
        AdjacentRun(uuid_text(uuid), Name(space, name), str(names[root]))
        for _, uuid, space, name, root, _ in ordered
    ]


def _reach(view: StoreView, root: int, begun: int, ended: int, io: int) -> tuple[int, int]:
    """From when until when others count: upstream the last to write before this run began,
    and whoever wrote until it ended; downstream whoever read before something newer was written.
    """
    # Who else wrote a dataset of another namespace is not told.
    own, params = ("", []) if view.names.own([root]) else view.scope.has_job("r.job")
    which, order = ("since <= ?", "max") if io == OUTPUT else ("since > ?", "min")
    rows = view.session.all(
        f"SELECT {order}(o.since) FROM dataset m JOIN run_io o ON o.dataset = m.id AND o.io = 1 "
        f"AND o.run <> 0 AND o.written >= 0 AND o.{which} LEFT JOIN run r ON r.id = o.run "
        f"WHERE m.root = ?{own}",
        begun if io == OUTPUT else min(ended, FOREVER - 1), root, *params,
    )  # fmt: skip
    edge = rows[0][0]
    if io == OUTPUT:
        return (edge if edge is not None else begun), min(ended, FOREVER - 1) + 1
    return begun, edge if edge is not None else FOREVER
