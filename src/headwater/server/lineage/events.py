"""Raw events, as they came."""

from typing import NamedTuple

from headwater.server.lineage.view import StoreView
from headwater.server.store.log import SEQ_AND_HEAD, read_bodies, sizes_in
from headwater.server.store.prune import has_pruned

KINDS = {
    "run": " AND run IS NOT NULL",
    "job": " AND run IS NULL AND job IS NOT NULL",
    "dataset": " AND run IS NULL AND job IS NULL",
    "all": "",
}


class Window(NamedTuple):
    """Which events are wanted."""

    after: int
    before: int
    newest_first: bool
    limit: int
    offset: int
    kind: str = "run"
    run: bytes | None = None


def find_events(view: StoreView, window: Window) -> tuple[dict[int, int], int]:
    """The numbers of a window of events with their sizes, and how many there are in all."""
    where, params = f"time >= ? AND time < ?{KINDS[window.kind]}", [window.after, window.before]
    if window.run is not None:
        where += " AND run = (SELECT id FROM run WHERE uuid = ?)"
        params.append(window.run)  # type: ignore[arg-type]
    order = "DESC" if window.newest_first else "ASC"
    rows = view.session.all(
        f"SELECT {SEQ_AND_HEAD} FROM event WHERE {where} ORDER BY time {order}, seq {order} "
        "LIMIT ? OFFSET ?", *params, window.limit, window.offset,
    )  # fmt: skip
    return sizes_in(rows), _count(view, window, where, params)


def read_events(view: StoreView, seqs: list[int]) -> list[bytes]:
    """The bodies of events, as they came; without those that were let go of meanwhile."""
    bodies = read_bodies(view.log, seqs)
    return [bodies[seq] for seq in seqs if seq in bodies]


def _count(view: StoreView, window: Window, where: str, params: list[int]) -> int:
    is_everything = window.after <= 0 and window.before > 2**61 and window.run is None
    # Events are numbered without gaps unless some were pruned, and most are of runs: counting the
    # others is quick.
    if is_everything and window.kind in ("run", "all") and not has_pruned(view.session):
        others = "(SELECT count(*) FROM event WHERE run IS NULL)" if window.kind == "run" else "0"
        rows = view.session.all(f"SELECT max(seq) - {others} FROM event")
    else:
        rows = view.session.all(f"SELECT count(*) FROM event WHERE {where}", *params)
    return rows[0][0] or 0


def as_array(key: str, bodies: list[bytes], total: int) -> bytes:
    """Events as an answer, byte for byte as they came."""
    return b'{"totalCount":%d,"%s":[%s]}' % (total, key.encode(), b",".join(bodies))
