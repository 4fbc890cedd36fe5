"""What one run read and wrote, and the runs before and after it.

Versions are known of every run; Kafka offsets and Iceberg snapshots as far as its events tell
them (the run facet `headwater_progress`).
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from headwater.api.base import Name
from headwater.api.datasets import SnapshotOffsets
from headwater.api.runs import AdjacentRun, Offsets, Run, RunLineage, RunSide
from headwater.openlineage.facets import CommitProgress, ProgressFacet, positions
from headwater.openlineage.names import DatasetName
from headwater.openlineage.times import FOREVER
from headwater.server.lineage.run_io import io_rows, ios_of
from headwater.server.lineage.view import StoreView, moment, uuid_text
from headwater.server.store.log import read_bodies
from headwater.server.store.rows import RunRow
from headwater.server.store.tables import INPUT, OUTPUT

_MOST = 5000  # events of a run that are looked through, and runs that are listed
_PAGE = 200


class _Facets(Struct, rename={"progress": "headwater_progress"}):
    progress: ProgressFacet | None = None


class _Run(Struct):
    facets: _Facets | None = None


class _Body(Struct):
    run: _Run | None = None


_decode = msgspec.json.Decoder(_Body).decode


def run_lineage(view: StoreView, row: RunRow, run: Run) -> RunLineage:
    """The datasets of a run, and the runs on both sides of it."""
    ios = ios_of(view, io_rows(view, [row.id]))
    told = [*_told(view, row.id)]
    offsets = _whole(told)
    snapshots = [*dict.fromkeys(s for one in told for s in one.snapshots or ())]
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


class MadeBy(NamedTuple):
    """The run that made a snapshot, as the event that first reported it tells."""

    run: int
    uuid: bytes
    time: int
    facet: ProgressFacet
    commit: CommitProgress | None  # none where the event tells of several commits together

    @property
    def offsets(self) -> Offsets:
        """The Kafka offsets that went into the snapshot."""
        return _committed(self.commit) if self.commit else _whole([self.facet])


def made_by(view: StoreView, dataset: int, snapshot: str) -> MadeBy | None:
    """What made a snapshot of a dataset; None where no event tells of it."""
    rows = view.session.all(
        "SELECT s.seq, r.id, r.uuid, e.time FROM snapshot s JOIN run r ON r.id = s.run "
        "JOIN event e ON e.seq = s.seq WHERE s.id = ? AND EXISTS (SELECT 1 FROM run_io io "
        "JOIN dataset d ON d.id = io.dataset WHERE io.run = s.run AND io.io = 1 AND d.root = ?) "
        "ORDER BY s.seq LIMIT 1", snapshot, dataset,
    )  # fmt: skip
    if not rows:
        return None
    seq, run, uuid, time = rows[0]
    if not view.scope.own_runs([run]):
        return None
    facet = progress_of(read_bodies(view.log, [seq])[seq]) or ProgressFacet()
    commit = next((one for one in facet.commits or () if one.snapshot == snapshot), None)
    return MadeBy(run, uuid, time, facet, commit)


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


def _committed(commit: CommitProgress) -> Offsets:
    return {
        topic: {number: {"from": start, "to": end} for number, (start, end) in partitions.items()}
        for topic, partitions in (commit.offsets or {}).items()
    }


def _told(view: StoreView, run: int) -> Iterator[ProgressFacet]:
    """The progress that a run told, in order."""
    rows = view.session.all(
        "SELECT seq FROM event WHERE run = ? ORDER BY time, seq LIMIT ?", run, _MOST
    )
    seqs = [row[0] for row in rows]
    for _, body in view.bodies(seqs):
        facet = progress_of(body) if body is not None else None
        if facet is not None:
            yield facet


def progress_facets(view: StoreView, seqs: list[int]) -> dict[int, ProgressFacet]:
    """The progress that events tell, of those that tell any."""
    found = {seq: progress_of(body) for seq, body in view.bodies(seqs) if body is not None}
    return {seq: facet for seq, facet in found.items() if facet is not None}


def progress_of(body: bytes) -> ProgressFacet | None:
    """The progress that an event tells, if any."""
    if b'"headwater_progress"' not in body:
        return None
    try:
        told = _decode(body)
    except msgspec.ValidationError:
        return None
    return told.run.facets.progress if told.run and told.run.facets else None


def _whole(told: Iterable[ProgressFacet]) -> Offsets:
    """From where the first report starts to where the last ends, by topic and partition."""
    offsets: Offsets = {}
    for facet in told:
        for (topic, partition), (start, end) in extents(facet).items():
            known = offsets.setdefault(topic, {}).setdefault(partition, {"from": start, "to": end})
            known["to"] = end
    return offsets


def extents(facet: ProgressFacet) -> dict[tuple[str, str], tuple[int, int]]:
    """From where to where one report goes, over all commits that it tells of."""
    told = [(commit.offsets or {}) for commit in facet.commits or ()]
    spans = [
        (topic, partition, start or 0, end)  # an unknown start is the beginning
        for offsets in told
        for topic, parts in offsets.items()
        for partition, (start, end) in parts.items()
    ]
    for source in facet.sources or ():
        for given in (source.start_offset, source.end_offset):
            spans += [(topic, part, place, place) for topic, part, place in positions(given)]
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for topic, partition, start, end in spans:
        low, high = found.get((topic, partition), (start, end))
        found[topic, partition] = min(low, start), max(high, end)
    return found


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
