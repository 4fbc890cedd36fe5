"""Follows runs to the runs that wrote what they read."""

from typing import Any

from headwater.api.runs import UpstreamInput, UpstreamJob, UpstreamRun, UpstreamState
from headwater.server.lineage.run_io import io_rows, ios_of
from headwater.server.lineage.view import StoreView, maybe_moment, uuid_text
from headwater.server.store.tables import INPUT


def runs_upstream(view: StoreView, uuid: bytes, depth: int) -> list[UpstreamRun] | None:
    """The run and those before it, nearest first; None where there is no such run."""
    rows = view.session.all("SELECT id FROM run WHERE uuid = ?", uuid)
    if not rows:
        return None
    level, seen = [rows[0][0]], {rows[0][0]}
    told: list[UpstreamRun] = []
    for _ in range(depth + 1):
        ios = ios_of(view, io_rows(view, level))
        versions = {i.version for run in level for i in ios.get((run, INPUT), ()) if i.version}
        writers = _writers(view, versions)
        told += [_tell(row, ios.get((row[0], INPUT), []), writers) for row in _runs(view, level)]
        level = [w for w in dict.fromkeys(w[0] for w in writers.values()) if w not in seen]
        seen |= set(level)
        if not level:
            break
    return told


def _runs(view: StoreView, ids: list[int]) -> list[Any]:
    return view.session.all(
        "SELECT r.id, r.uuid, n.name, j.name, r.version, r.started_at, r.ended_at, r.state "
        "FROM run r JOIN job j ON j.id = r.job JOIN namespace n ON n.id = j.namespace "
        "WHERE r.id = ANY(?) ORDER BY r.created_at DESC, r.uuid", ids,
    )  # fmt: skip


def _writers(view: StoreView, versions: set[bytes]) -> dict[bytes, tuple[int, bytes]]:
    """The run, by id and UUID, that wrote each version."""
    found: dict[bytes, tuple[int, bytes]] = {}
    for version in versions:
        rows = view.session.all(
            "SELECT r.id, r.uuid FROM run_io io JOIN run r ON r.id = io.run WHERE io.version = ?",
            version,
        )
        if rows:
            found[version] = (rows[0][0], rows[0][1])
    return found


def _tell(row: Any, inputs: list[Any], writers: dict[bytes, tuple[int, bytes]]) -> UpstreamRun:
    _, uuid, namespace, name, version, started, ended, state = row
    return UpstreamRun(
        UpstreamJob(namespace, name, uuid_text(version) if version else None),
        UpstreamState(uuid_text(uuid), maybe_moment(started), maybe_moment(ended), state),
        [
            UpstreamInput(
                io.name[0],
                io.name[1],
                uuid_text(io.version) if io.version else None,
                uuid_text(writers[io.version][1]) if io.version in writers else None,
            )
            for io in inputs
        ],
    )
