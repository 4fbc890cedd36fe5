"""Values over time: which schema a dataset had, and when.

An event is an observation of a value at its time. Observations make a step function, kept
as spans; a late one changes just the stretch up to the observation that follows it.
"""

from typing import NamedTuple

from headwater.openlineage.times import FOREVER
from headwater.server.store.feed import SCHEMA_CHANGED
from headwater.server.store.unit import Unit


class _Latest:
    """The last observation of a key, and the span that is open."""

    __slots__ = ("since", "stamp", "value")

    def __init__(self, stamp: tuple[int, int], since: int, value: int) -> None:
        self.stamp, self.since, self.value = stamp, since, value


class Spans(NamedTuple):
    """One table of spans, by dataset and a second key; `which` finds a key's observations."""

    table: str
    key: str
    value: str
    which: str
    change: str  # what those who watch are told

    def observe(self, unit: Unit, dataset: int, key: int, at: tuple[int, int], value: int) -> None:
        """Take note that the value was seen at a time (and tie)."""
        place = (self.table, dataset, key)
        latest: _Latest | None = unit.spans.get(place)
        if latest is None:
            latest = self._load(unit, dataset, key)
        if latest is None:
            self._insert(unit, dataset, key, at[0], FOREVER, value)
            unit.spans[place] = _Latest(at, at[0], value)
        elif at > latest.stamp and (value == latest.value or at[0] > latest.since):
            if value != latest.value:
                self._close(unit, dataset, key, at[0])
                self._insert(unit, dataset, key, at[0], FOREVER, value)
                latest.since, latest.value = at[0], value
            latest.stamp = at
            unit.spans[place] = latest
        elif at != latest.stamp:
            self._observe_late(unit, dataset, key, at, value)
            latest = self._load(unit, dataset, key, is_stored=True)
            if latest is not None:
                latest.stamp = max(latest.stamp, at)
            unit.spans[place] = latest

    def _load(
        self, unit: Unit, dataset: int, key: int, *, is_stored: bool = False
    ) -> _Latest | None:
        if not is_stored and unit.is_ours("dataset", dataset):
            return None
        seen = unit.session.all(
            f"SELECT time, tie FROM touch WHERE dataset = ? AND {self.which} "
            f"AND {self.value} IS NOT NULL ORDER BY time DESC, tie DESC LIMIT 1", dataset, key,
        )  # fmt: skip
        open_ = unit.session.all(
            f"SELECT since, {self.value} FROM {self.table} "
            f"WHERE dataset = ? AND {self.key} = ? AND until = ?", dataset, key, FOREVER,
        )  # fmt: skip
        return _Latest((seen[0][0], seen[0][1]), *open_[0]) if seen and open_ else None

    def _insert(
        self, unit: Unit, dataset: int, key: int, since: int, until: int, value: int
    ) -> None:
        unit.session.run(
            f"INSERT INTO {self.table} (dataset, {self.key}, since, until, {self.value}) "
            "VALUES (?, ?, ?, ?, ?)", dataset, key, since, until, value,
        )  # fmt: skip
        unit.feed.graph(self.change, since, dataset=dataset)

    def _close(self, unit: Unit, dataset: int, key: int, until: int) -> None:
        unit.session.run(
            f"UPDATE {self.table} SET until = ? WHERE dataset = ? AND {self.key} = ? "
            "AND until = ?", until, dataset, key, FOREVER,
        )  # fmt: skip

    def _observe_late(
        self, unit: Unit, dataset: int, key: int, at: tuple[int, int], value: int
    ) -> None:
        unit.flush()
        after = self._neighbour(unit, dataset, key, at, ">", "ASC")
        until = after[0] if after else FOREVER
        if until > at[0]:
            self._assign(unit, dataset, key, at[0], until, value)

    def _neighbour(
        self, unit: Unit, dataset: int, key: int, at: tuple[int, int], side: str, order: str
    ) -> tuple[int, ...] | None:
        rows = unit.session.all(
            f"SELECT time FROM touch WHERE dataset = ? AND {self.which} "
            f"AND {self.value} IS NOT NULL AND (time, tie) {side} (?, ?) "
            f"ORDER BY time {order}, tie {order} LIMIT 1", dataset, key, *at,
        )  # fmt: skip
        return rows[0] if rows else None

    def _assign(
        self, unit: Unit, dataset: int, key: int, since: int, until: int, value: int
    ) -> None:
        near = unit.session.all(
            f"SELECT since, until, {self.value} FROM {self.table} "
            f"WHERE dataset = ? AND {self.key} = ? AND until >= ? AND since <= ?",
            dataset, key, since, until,
        )  # fmt: skip
        pieces = [(since, until, value)]
        for a, b, v in near:
            pieces += [(a, min(b, since), v)] if a < since else []
            pieces += [(max(a, until), b, v)] if b > until else []
        unit.session.run(
            f"DELETE FROM {self.table} "
            f"WHERE dataset = ? AND {self.key} = ? AND until >= ? AND since <= ?",
            dataset, key, since, until,
        )  # fmt: skip
        for a, b, v in _joined(sorted(pieces)):
            self._insert(unit, dataset, key, a, b, v)


def _joined(pieces: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Neighbouring pieces of one value as one."""
    joined: list[tuple[int, int, int]] = []
    for since, until, value in pieces:
        if joined and joined[-1][1] == since and joined[-1][2] == value:
            joined[-1] = (joined[-1][0], until, value)
        else:
            joined.append((since, until, value))
    return joined


SCHEMAS = Spans(
    "schema_span", "io", "schema", "(CASE io WHEN 0 THEN 0 ELSE 1 END) = ?", SCHEMA_CHANGED
)
