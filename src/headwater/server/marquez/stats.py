"""How much there was, hour by hour or day by day."""

from datetime import UTC, datetime, timedelta, tzinfo

from headwater.api.catalog import AssetCounts, EventCounts
from headwater.server.lineage.view import StoreView

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def intervals(period: str, zone: tzinfo, clock: datetime) -> list[tuple[datetime, datetime]]:
    """The last 24 hours, or the last 7 days as they begin in a time zone."""
    if period == "DAY":
        hour = clock.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        starts = [hour - timedelta(hours=n) for n in range(23, -1, -1)]
        return [(start, start + timedelta(hours=1)) for start in starts]
    day = clock.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    starts = [day - timedelta(days=n) for n in range(6, -1, -1)]
    return [(s.astimezone(UTC), (s + timedelta(days=1)).astimezone(UTC)) for s in starts]


def _micros(when: datetime) -> int:
    return (when - _EPOCH) // timedelta(microseconds=1)


def event_counts(view: StoreView, spans: list[tuple[datetime, datetime]]) -> list[EventCounts]:
    """Run events of each kind in each interval."""
    counted = []
    for start, end in spans:
        rows = view.session.all(
            "SELECT type, count(*) FROM event WHERE time >= ? AND time < ? AND run IS NOT NULL "
            "GROUP BY type", _micros(start), _micros(end),
        )  # fmt: skip
        of: dict[str, int] = dict(rows)
        counts = (of.get(kind, 0) for kind in ("FAIL", "START", "COMPLETE", "ABORT"))
        counted.append(EventCounts(start, end, *counts))
    return counted


_COUNTED = {
    "jobs": "SELECT count(*) FROM job WHERE created_at < ? AND NOT hidden",
    "datasets": "SELECT count(*) FROM dataset WHERE created_at < ? AND id = root AND NOT hidden",
    "sources": "SELECT count(*) FROM source WHERE created_at < ?",
}


def asset_counts(
    view: StoreView, asset: str, spans: list[tuple[datetime, datetime]]
) -> list[AssetCounts]:
    """How many jobs, datasets or sources there were by the end of each interval."""
    return [
        AssetCounts(start, end, view.session.all(_COUNTED[asset], _micros(end))[0][0])
        for start, end in spans
    ]
