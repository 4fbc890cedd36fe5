"""The reports of streaming queries (the run facet `headwater_progress`), read back from events.

A report may hold thousands of commits and positions. Reports are read one by one, and none is kept:
who asks takes from each what the answer needs, and `Kept` counts that.
"""

from collections.abc import Iterable, Iterator
from sys import getsizeof

import msgspec
from msgspec import Raw, Struct

from headwater.api.runs import OffsetRange, Offsets
from headwater.errors import AnswerTooLarge
from headwater.openlineage.facets import (
    MOST_PROGRESS,
    CommitProgress,
    ProgressFacet,
    count_values,
    positions,
    read_progress,
)
from headwater.server.lineage.budget import Budget
from headwater.server.lineage.view import StoreView

_SPAN = 600  # bytes that the offsets of a partition take, about
_PLACE = 100  # bytes that a place in a list, a set or a dictionary takes, about


class _Facets(Struct, rename={"progress": "headwater_progress"}):
    progress: Raw = Raw()


class _Run(Struct):
    facets: _Facets | None = None


class _Body(Struct):
    run: _Run | None = None


_decode = msgspec.json.Decoder(_Body).decode


def reports(view: StoreView, seqs: list[int]) -> Iterator[tuple[int, ProgressFacet]]:
    """The reports of events that have one, in the order of the events, with their numbers.

    Raises: AnswerTooLarge, when the answer may open no more events.
    """
    for seq, body in view.bodies(seqs):
        if body is None:
            raise AnswerTooLarge
        facet = _report_of(view.budget, body)
        if facet is not None:
            yield seq, facet


def some_reports(view: StoreView, seqs: list[int]) -> Iterator[tuple[int, ProgressFacet]]:
    """As many of the reports as the answer may open."""
    try:
        yield from reports(view, seqs)
    except AnswerTooLarge:
        return


def _report_of(budget: Budget, body: bytes) -> ProgressFacet | None:
    if b'"headwater_progress"' not in body:
        return None
    try:
        event = _decode(body)
    except msgspec.ValidationError:
        return None
    if not event.run or not event.run.facets:
        return None
    text = bytes(event.run.facets.progress)
    values = count_values(text)
    if values > MOST_PROGRESS:
        return None
    budget.decode_report(len(text), values)
    return read_progress(text)


class Kept:
    """What an answer keeps of reports, all of which counts towards its budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.offsets: Offsets = {}

    def texts(self, *texts: str) -> None:
        """Count texts that are kept, and their places."""
        self._budget.keep_reported(sum(_PLACE + getsizeof(text) for text in texts))

    def numbers(self, count: int) -> None:
        """Count numbers that are kept."""
        self._budget.keep_reported(_PLACE * count)

    def span(self, topic: str, partition: str, start: int | None, end: int | None) -> OffsetRange:
        """The offsets of a partition, which are the given ones where none are kept of it."""
        known = self.offsets.setdefault(topic, {}).get(partition)
        if known is None:
            self._budget.keep_reported(_SPAN + getsizeof(topic) + getsizeof(partition))
            known = self.offsets[topic][partition] = {"from": start, "to": end}
        return known

    def extend(self, facets: Iterable[ProgressFacet]) -> Offsets:
        """From where the first report starts to where the last ends, by topic and partition."""
        for facet in facets:
            for (topic, partition), (start, end) in extents(facet).items():
                self.span(topic, partition, start, end)["to"] = end
        return self.offsets


def extents(facet: ProgressFacet) -> dict[tuple[str, str], tuple[int, int]]:
    """From where to where one report goes, over all commits of its run that it tells of."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for topic, partition, start, end in _spans(facet):
        low, high = found.get((topic, partition), (start, end))
        found[topic, partition] = min(low, start), max(high, end)
    return found


def _spans(facet: ProgressFacet) -> Iterator[tuple[str, str, int, int]]:
    for commit in facet.commits or ():
        if commit.offsets and not commit.recovered:
            for topic, parts in commit.offsets.items():
                for partition, (start, end) in parts.items():
                    yield topic, partition, start or 0, end  # an unknown start is the beginning
    for source in facet.sources or ():
        for given in (source.start_offset, source.end_offset):
            for topic, partition, place in positions(given):
                yield topic, partition, place, place


def offsets_of(commit: CommitProgress) -> Offsets:
    """The offsets that one commit holds."""
    return {
        topic: {number: {"from": start, "to": end} for number, (start, end) in partitions.items()}
        for topic, partitions in (commit.offsets or {}).items()
    }
