"""Which schema a dataset had, and when: as it is read (0), and as it is written or described (1).

An event is an observation of a schema at its time. Observations make a step function, kept
as spans; a late one changes just the stretch up to the observation that follows it.
"""

from headwater.openlineage.times import FOREVER
from headwater.server.store.commit import Commit
from headwater.server.store.feed import SCHEMA_CHANGED

_INSERT = "INSERT INTO schema_span (dataset, io, since, until, schema) VALUES (?, ?, ?, ?, ?)"
_CLOSE = f"UPDATE schema_span SET until = ? WHERE dataset = ? AND io = ? AND until = {FOREVER}"
_OPEN = f"SELECT since, schema FROM schema_span WHERE dataset = ? AND io = ? AND until = {FOREVER}"
_NEAR = "WHERE dataset = ? AND io = ? AND until >= ? AND since <= ?"
_OBSERVED = (
    "SELECT time, tie FROM dataset_observation WHERE dataset = ? "
    "AND (CASE io WHEN 0 THEN 0 ELSE 1 END) = ? AND schema IS NOT NULL"
)

Piece = tuple[int, int, int]  # since, until, and what holds


class _Latest:
    """The last observation of a dataset, and the span that is open."""

    __slots__ = ("schema", "since", "stamp")

    def __init__(self, stamp: tuple[int, int], since: int, schema: int) -> None:
        self.stamp, self.since, self.schema = stamp, since, schema


def observe_schema(commit: Commit, dataset: int, io: int, at: tuple[int, int], schema: int) -> None:
    """Note that a schema was observed at a time (and tie)."""
    spans, key = commit.cache.spans, ("schema_span", dataset, io)
    latest: _Latest | None = spans.get(key) or _load(commit, dataset, io)
    if latest is None:
        _insert(commit, dataset, io, (at[0], FOREVER, schema))
        spans[key] = _Latest(at, at[0], schema)
    elif at > latest.stamp and (schema == latest.schema or at[0] > latest.since):
        if schema != latest.schema:
            commit.session.run(_CLOSE, at[0], dataset, io)
            _insert(commit, dataset, io, (at[0], FOREVER, schema))
            latest.since, latest.schema = at[0], schema
        latest.stamp = at
        spans[key] = latest
    elif at != latest.stamp:
        _observe_late(commit, dataset, io, at, schema)
        latest = _load(commit, dataset, io, is_stored=True)
        if latest is not None:
            latest.stamp = max(latest.stamp, at)
        spans[key] = latest


def _load(commit: Commit, dataset: int, io: int, *, is_stored: bool = False) -> _Latest | None:
    if not is_stored and commit.cache.is_new("dataset", dataset):
        return None
    last = f"{_OBSERVED} ORDER BY time DESC, tie DESC LIMIT 1"
    observed = commit.session.all(last, dataset, io)
    span = commit.session.all(_OPEN, dataset, io)
    return _Latest((observed[0][0], observed[0][1]), *span[0]) if observed and span else None


def _insert(commit: Commit, dataset: int, io: int, piece: Piece) -> None:
    commit.session.run(_INSERT, dataset, io, *piece)
    commit.feed.graph(SCHEMA_CHANGED, piece[0], dataset=dataset)


def _observe_late(commit: Commit, dataset: int, io: int, at: tuple[int, int], schema: int) -> None:
    commit.flush()
    following = f"{_OBSERVED} AND (time, tie) > (?, ?) ORDER BY time, tie LIMIT 1"
    after = commit.session.all(following, dataset, io, *at)
    since, until = at[0], after[0][0] if after else FOREVER
    if until <= since:
        return
    near = commit.session.all(
        f"SELECT since, until, schema FROM schema_span {_NEAR}", dataset, io, since, until
    )
    commit.session.run(f"DELETE FROM schema_span {_NEAR}", dataset, io, since, until)
    for piece in joined([(since, until, schema), *outside(near, since, until)]):
        _insert(commit, dataset, io, piece)


def outside(pieces: list[Piece], since: int, until: int) -> list[Piece]:
    """What is left of pieces before a moment, and after another."""
    before = [(a, min(b, since), value) for a, b, value in pieces if a < since]
    return before + [(max(a, until), b, value) for a, b, value in pieces if b > until]


def joined(pieces: list[Piece]) -> list[Piece]:
    """Neighbouring pieces of one value as one."""
    found: list[Piece] = []
    for since, until, value in sorted(pieces, key=lambda piece: (piece[2], piece[0])):
        if found and found[-1][1:] == (since, value):
            found[-1] = (found[-1][0], until, value)
        else:
            found.append((since, until, value))
    return found
