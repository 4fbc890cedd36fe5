"""From where on a stream with state may have read what a row holds, bounded by its watermark.

The watermark of a micro-batch comes from the records of the batches before it. As long as it is
before a time, these had no record that counts from that time on.
"""

from headwater.api.runs import Offsets
from headwater.openlineage.facets import ProgressFacet
from headwater.openlineage.times import parse_moment
from headwater.server.lineage.commits import reports_since
from headwater.server.lineage.reports import extents
from headwater.server.lineage.view import StoreView
from headwater.server.store.rows import RunRow

_CLOSE = 1_000_000  # microseconds from which on reports are read one after the other


def bounded(view: StoreView, run: RunRow, offsets: Offsets, until: int, watermark: int) -> Offsets:
    """Offsets from the last report on, until a time, whose watermark was before another time."""
    report = _last_before(view, run, until, watermark)
    starts = {place: span[0] for place, span in extents(report).items()} if report else {}
    return {
        topic: {
            number: {"from": starts.get((topic, number)), "to": one["to"]}
            for number, one in parts.items()
        }
        for topic, parts in offsets.items()
    }


def _last_before(view: StoreView, run: RunRow, until: int, watermark: int) -> ProgressFacet | None:
    low, high, found = run.created_at, until, None
    while high - low > _CLOSE:
        middle = (low + high) // 2
        at, facet = _next(view, run, middle, until)
        if facet is None or not _is_before(facet, watermark):
            high = middle
        else:
            found, low = facet, max(at, middle)
    for at, facet in reports_since(view, run, low - 1):
        if at > until or (_has_watermark(facet) and not _is_before(facet, watermark)):
            break
        found = facet if _is_before(facet, watermark) else found
    return found


def _next(view: StoreView, run: RunRow, since: int, until: int) -> tuple[int, ProgressFacet | None]:
    """The first report with a watermark at a time or later."""
    for at, facet in reports_since(view, run, since - 1):
        if at > until:
            break
        if _has_watermark(facet):
            return at, facet
    return until, None


def _has_watermark(facet: ProgressFacet) -> bool:
    return facet.watermark is not None and bool(extents(facet))


def _is_before(facet: ProgressFacet, watermark: int) -> bool:
    if facet.watermark is None or not extents(facet):
        return False
    try:
        return parse_moment(facet.watermark) < watermark
    except (ValueError, OverflowError):
        return False
