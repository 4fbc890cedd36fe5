"""Since when and until when columns and column edges stand, within a window of history.

A schema or a column mapping that replaces another keeps most of what is in it. What is kept
stands since it first appeared, not since the latest replacement.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

from headwater.openlineage.times import FOREVER
from headwater.server.lineage.columns import Column
from headwater.server.lineage.view import StoreView
from headwater.server.store.contents import Field, Step


class Span(NamedTuple):
    """A stretch of time, and the id of the schema or mapping that was valid in it."""

    since: int
    until: int
    content: int


Window = tuple[int, int]
_SPANS = (
    ("mapping_span", "mapping", ""),
    ("edge", "0", " AND io = 1"),
    ("edge", "0", " AND io = 0"),
)
_WITHIN = "dataset = ANY(?) AND until > ? AND since <= ?"


class ValiditySpans:
    """The spans of some datasets' schemas, mappings and edges in a window."""

    def __init__(self, view: StoreView, window: Window, roots: Iterable[int]) -> None:
        self._view, self._at = view, view.at
        members = view.names.members(roots)
        together: dict[int, list[int]] = {}
        for member, root in members.items():
            together.setdefault(root, []).append(member)
        self.members = {root: tuple(some) for root, some in together.items()}
        self._schemas = self._load_schemas(members, window)
        self._mappings, self._edges, self._reads = (
            self._load(
                f"SELECT dataset, job, since, until, {column} FROM {table} WHERE {_WITHIN}{side}",
                members, window,
            )
            for table, column, side in _SPANS
        )  # fmt: skip
        used = {span.content for spans in self._mappings.values() for span in spans}
        self._contents = view.mappings(used)
        told = {span.content for spans in self._schemas.values() for span in spans}
        self._fields = {
            number: {field.name: field for field in schema.fields}
            for number, schema in view.schemas(told).items()
        }

    def field(self, root: int, field: Field) -> Window:
        """When a dataset has a field with this type and description."""
        spans = self._schemas.get(root, [])
        found = self._stretch(spans, lambda s: self._fields[s.content].get(field.name) == field)
        return found or (-FOREVER, FOREVER)

    def column_edge(
        self, to: Column, origin: Column, job: int, steps: list[Step] | None = None
    ) -> Window:
        """When a job leads from one column to another (by these steps), and both exist."""
        inputs = {*self.members[origin[0]]}

        def leads(span: Span) -> bool:
            mapping = self._contents[span.content]
            given = [g for dataset in inputs for g in mapping.between(dataset, origin[1], to[1])]
            return any(steps is None or g.steps == steps for g in given)

        found: list[Window] = []
        for member in self.members[to[0]]:
            mapped = self._stretch(self._mappings.get((member, job), []), leads)
            written = self._stretch(self._edges.get((member, job), []), lambda _: True)
            if mapped is not None:
                found.append(_both(mapped, written or (-FOREVER, FOREVER)))
        since = min((s for s, _ in found), default=-FOREVER)
        until = max((u for _, u in found), default=FOREVER)
        if job and origin[0] != to[0]:
            reads = [self._stretch(self._reads.get((m, job), []), lambda _: True) for m in inputs]
            since = max(since, min((r[0] for r in reads if r), default=since))
            until = min(until, max((r[1] for r in reads if r), default=until))
        for root, name in (to, origin):
            lacking = self._without(root, name)
            since = max([since, *(s.until for s in lacking if s.until <= self._at)])
            until = min([until, *(s.since for s in lacking if s.since > self._at)])
        return since, until

    def _without(self, root: int, name: str) -> list[Span]:
        """The spans of schemas without a column that an earlier one had."""
        spans = self._schemas.get(root, [])
        has = [name in self._fields[span.content] for span in spans]
        return [span for i, span in enumerate(spans) if not has[i] and any(has[:i])]

    def _stretch(self, spans: list[Span], holds: Callable[[Span], bool]) -> Window | None:
        """The whole time around the moment in which some span that holds is valid."""
        current: Window | None = None
        for span in filter(holds, spans):  # by when they begin; some overlap
            if current is None or span.since > current[1]:
                if current is not None and current[0] <= self._at < current[1]:
                    return current
                current = span.since, span.until
            else:
                current = current[0], max(current[1], span.until)
        return current if current and current[0] <= self._at < current[1] else None

    def _load(
        self, sql: str, members: Iterable[int], window: Window
    ) -> dict[tuple[int, int], list[Span]]:
        found: dict[tuple[int, int], list[Span]] = {}
        for dataset, job, *span in self._view.session.all(sql, [*members], *window):
            found.setdefault((dataset, job), []).append(Span(*span))
        for spans in found.values():
            spans.sort()
        return found

    def _load_schemas(self, members: dict[int, int], window: Window) -> dict[int, list[Span]]:
        """The schemas of each dataset: at each moment as written, else as read."""
        rows = self._view.session.all(
            "SELECT s.dataset, s.io, s.since, c.digest, s.until, s.schema FROM schema_span s "
            f"JOIN schema c ON c.id = s.schema WHERE s.{_WITHIN}", [*members], *window,
        )  # fmt: skip
        told: dict[int, list[tuple[int, int, bytes, int, int]]] = {}
        for dataset, *row in rows:
            io, since, digest, until, schema = row
            told.setdefault(members[dataset], []).append((io, since, bytes(digest), until, schema))
        return {root: _decided(spans) for root, spans in told.items()}


def _decided(spans: list[tuple[int, int, bytes, int, int]]) -> list[Span]:
    """Of spans that overlap, (io, since, digest, until, schema), the greatest at each moment."""
    cuts = sorted({cut for _, since, _, until, _ in spans for cut in (since, until)})
    found = []
    for since, until in pairwise(cuts):
        valid = [span for span in spans if span[1] <= since < span[3]]
        if valid:
            found.append(Span(since, until, max(valid)[4]))
    return found


def _both(one: Window, other: Window) -> Window:
    return max(one[0], other[0]), min(one[1], other[1])
