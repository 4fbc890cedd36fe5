"""What changed in the graph between two moments, and the run that did it.

Around a node, two snapshots are compared. Everywhere, only what has changed in between is
looked at, so that the work follows the change and not the size of the graph.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeVar

from headwater.api.history import (
    ColumnEdgeChange,
    ColumnEdgeChanges,
    ColumnEdgeUpdate,
    Diff,
    EdgeChange,
    EdgeChanges,
    FieldType,
    FieldUpdate,
    NodeChanges,
)
from headwater.openlineage.names import NodeId
from headwater.server.lineage.snapshot import EMPTY, GraphSnapshot, Pair, Validity, around, take
from headwater.server.lineage.view import StoreView, maybe_moment, moment, uuid_text
from headwater.server.lineage.walk import Walk
from headwater.server.store.database import Row
from headwater.server.store.tables import INPUT

E = TypeVar("E", bound=EdgeChange)

_NEAR = "> ? AND {0} <= ?"
_CHANGE = 120  # bytes of a change in an answer besides its names
_LOOKUPS = 4096  # moments times datasets that are looked up in one statement


def diff_around(before: StoreView, after: StoreView, node: NodeId, depth: int) -> Diff | None:
    """The difference around a node; None where it was there at neither moment."""
    window = before.at, after.at
    one, two = around(before, node, depth, window), around(after, node, depth, window)
    if one is None and two is None:
        return None
    return compare(before, after, one or EMPTY, two or EMPTY)


def diff_everywhere(before: StoreView, after: StoreView) -> Diff:
    """The difference of the whole graph."""
    scope = _Scope(before, after)
    return compare(before, after, scope.take(before), scope.take(after))


class _Scope:
    """The jobs and names that something happened to between two moments."""

    def __init__(self, before: StoreView, after: StoreView) -> None:
        self._view, self._window = after, (before.at, after.at)
        self.names = self._renamed()
        edges = self._changed("edge", "job, dataset", "since", "until")
        self.jobs = {row[0] for row in edges}
        linked = self.names | {row[1] for row in edges}
        self.names |= {row[1] for row in edges}
        for table in ("schema_span", "mapping_span"):
            self.names |= {row[0] for row in self._changed(table, "dataset", "since", "until")}
        # With every edge of a dataset in the snapshot it is plain whether it is new or gone.
        self.jobs |= self._around(before, linked) | self._around(after, linked)

    def _changed(self, table: str, columns: str, *times: str) -> set[tuple[int, ...]]:
        found: set[tuple[int, ...]] = set()
        for time in times:
            rows = self._view.session.all(
                f"SELECT {columns} FROM {table} WHERE {time} {_NEAR.format(time)}", *self._window
            )
            found.update(rows)
        return found

    def _renamed(self) -> set[int]:
        """Names whose links, or whose rank among others, changed."""
        found = {n for row in self._changed("alias", "a, b", "since") for n in row}
        rows = self._view.session.all(
            "SELECT d.id FROM dataset d JOIN (SELECT a AS id FROM alias UNION SELECT b FROM alias) "
            "x ON x.id = d.id WHERE (d.created_at > ? AND d.created_at <= ?) "
            "OR (d.named_at > ? AND d.named_at <= ?) "
            "OR (d.declared_at > ? AND d.declared_at <= ?)", *self._window * 3,
        )  # fmt: skip
        found |= {row[0] for row in rows}
        rows = self._view.session.all(
            "SELECT id FROM dataset WHERE root IN (SELECT root FROM dataset WHERE id = ANY(?))",
            [*found],
        )
        return {row[0] for row in rows}

    def _around(self, view: StoreView, names: set[int]) -> set[int]:
        return Walk(view).jobs_of({*view.names.roots(names).values()})

    def take(self, view: StoreView) -> GraphSnapshot:
        """The snapshot of what may have changed, at one of the moments."""
        walk, names = Walk(view), view.names
        walk.take(self._shown_jobs(view))
        roots = {*names.shown(self.names).values()}
        fed = view.session.all(
            "SELECT DISTINCT m.dataset FROM mapping_input i "
            "JOIN mapping_span m ON m.mapping = i.mapping WHERE i.dataset = ANY(?) "
            "AND m.since <= ? AND m.until > ?", [*names.members(roots)], view.at, view.at,
        )  # fmt: skip
        into = roots | {*names.shown(row[0] for row in fed).values()}
        return _linked_only(take(walk, roots, into, self._window))

    def _shown_jobs(self, view: StoreView) -> set[int]:
        rows = view.session.all("SELECT id FROM job WHERE id = ANY(?) AND NOT hidden", [*self.jobs])
        return {row[0] for row in rows}


def _linked_only(snapshot: GraphSnapshot) -> GraphSnapshot:
    return snapshot._replace(nodes={end for pair in snapshot.edges for end in pair})


def compare(before: StoreView, after: StoreView, one: GraphSnapshot, two: GraphSnapshot) -> Diff:
    """The difference of two snapshots.

    Raises: AnswerTooLarge.
    """
    runs = _Runs(after, (before.at, after.at), [*one.everything(), *two.everything()])
    fields = [_field(runs, key, one, two) for key in sorted(one.fields.keys() | two.fields.keys())]
    edge, column = EdgeChange, ColumnEdgeChange
    return Diff(
        moment_or_none(before.at),
        moment_or_none(after.at),
        NodeChanges(
            runs.counted(sorted(two.nodes - one.nodes)), runs.counted(sorted(one.nodes - two.nodes))
        ),
        EdgeChanges(
            [runs.begun(edge, p, two.edges[p]) for p in sorted(two.edges.keys() - one.edges)],
            [runs.ended(edge, p, one.edges[p]) for p in sorted(one.edges.keys() - two.edges)],
        ),
        ColumnEdgeChanges(
            [
                runs.begun(column, p, two.columns[p].validity, two.columns[p].steps)
                for p in sorted(two.columns.keys() - one.columns)
            ],
            [
                runs.ended(column, p, one.columns[p].validity, one.columns[p].steps)
                for p in sorted(one.columns.keys() - two.columns)
            ],
            [
                runs.begun(ColumnEdgeUpdate, p, new.told, old.steps, new.steps)
                for p in sorted(one.columns.keys() & two.columns)
                if (old := one.columns[p]).steps != (new := two.columns[p]).steps
            ],
        ),
        [field for field in fields if field],
    )


def moment_or_none(at: int) -> datetime | None:
    """A moment; none where it is the beginning or the end of time."""
    return moment(at) if abs(at) < 2**57 else None


def _field(
    runs: "_Runs", key: tuple[str, str], one: GraphSnapshot, two: GraphSnapshot
) -> FieldUpdate | None:
    old, new = one.fields.get(key), two.fields.get(key)
    before, after = (FieldType(f[0].type, f[0].description) if f else None for f in (old, new))
    if before == after:
        return None
    runs.count(key, before, after)
    change = "added" if before is None else "removed" if after is None else "changed"
    at, run = runs.when_begun(new[1]) if new else runs.when_ended(old[1]) if old else (None, None)
    return FieldUpdate(*key, change, before, after, maybe_moment(at), run)


class _Runs:
    """Finds the moment of a change, and the run that made it."""

    def __init__(
        self, view: StoreView, window: tuple[int, int], everything: list[Validity]
    ) -> None:
        self._view, self._window = view, window
        self._observations: dict[tuple[int, int], list[Row]] = {}
        self._successors: dict[tuple[int, int, int], str | None] = {}
        self._load_observations({
            (at, dataset) for validity in everything for at in (validity.since, validity.until)
            if self._is_between(at) for dataset in validity.datasets
        })  # fmt: skip

    def _load_observations(self, wanted: set[tuple[int, int]]) -> None:
        """Have the runs at hand that spoke of datasets at some moments."""
        for part in _products(sorted(wanted)):
            rows = self._view.session.all(
                "SELECT t.time, t.dataset, r.uuid, t.job, t.io FROM dataset_observation t "
                "JOIN run r ON r.id = t.run WHERE t.dataset = ANY(?) AND t.time = ANY(?) "
                "AND r.state <> 'DECLARED'",
                [*{dataset for _, dataset in part}], [*{at for at, _ in part}],
            )  # fmt: skip
            for at, dataset, *run in rows:
                if (at, dataset) in wanted:
                    self._observations.setdefault((at, dataset), []).append(tuple(run))

    def counted(self, nodes: list[str]) -> list[str]:
        """Nodes, as part of the answer."""
        self._view.budget.take_columns(sum(map(len, nodes)))
        return nodes

    def count(self, names: Pair, *details: Any) -> None:
        """Make a change part of the answer.

        Raises: AnswerTooLarge.
        """
        size = sum(map(len, names)) + sum(len(str(detail)) for detail in details)
        self._view.budget.take_columns(_CHANGE + size)

    def begun(self, kind: type[E], pair: Pair, validity: Validity, *details: Any) -> E:
        """An edge that is new."""
        self.count(pair, details)
        at, run = self.when_begun(validity)
        return kind(*pair, maybe_moment(at), run, *details)

    def ended(self, kind: type[E], pair: Pair, validity: Validity, *details: Any) -> E:
        """An edge that is gone."""
        self.count(pair, details)
        at, run = self.when_ended(validity)
        return kind(*pair, maybe_moment(at), run, *details)

    def when_begun(self, validity: Validity) -> tuple[int | None, str | None]:
        """When something began between the moments, and by which run."""
        if not self._is_between(validity.since):
            return None, None  # it was there, under another name or out of reach
        return validity.since, self._speaker(validity, validity.since)

    def when_ended(self, validity: Validity) -> tuple[int | None, str | None]:
        """When something ended between the moments, and by which run."""
        if not self._is_between(validity.until):
            return None, None
        return validity.until, self._speaker(validity, validity.until) or self._successor(validity)

    def _is_between(self, at: int) -> bool:
        return self._window[0] < at <= self._window[1]

    def _speaker(self, validity: Validity, at: int) -> str | None:
        """The run that spoke of the dataset at a moment."""
        rows = [
            row
            for dataset in validity.datasets
            for row in self._observations.get((at, dataset), ())
        ]
        if validity.job:
            rows = [row for row in rows if row[1] == validity.job]
        return uuid_text(min(rows, key=lambda r: (r[2] != validity.io, r[0]))[0]) if rows else None

    def _successor(self, validity: Validity) -> str | None:
        """The run that spoke for the job from then on."""
        key = validity.job, validity.io, validity.until
        if key not in self._successors:
            side = "in_since" if validity.io == INPUT else "out_since"
            rows = self._view.session.all(
                f"SELECT uuid FROM run WHERE job = ? AND {side} = ? AND state <> 'DECLARED' "
                "ORDER BY uuid LIMIT 1", validity.job, validity.until,
            )  # fmt: skip
            self._successors[key] = uuid_text(rows[0][0]) if rows else None
        return self._successors[key]


def _products(wanted: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Pairs in parts, in none of which the first times the second are too many to look up."""
    part, firsts, seconds = list[tuple[int, int]](), set[int](), set[int]()
    for pair in wanted:
        firsts.add(pair[0])
        seconds.add(pair[1])
        if part and len(firsts) > 1 and len(firsts) * len(seconds) > _LOOKUPS:
            yield part
            part, firsts, seconds = [], {pair[0]}, {pair[1]}
        part.append(pair)
    if part:
        yield part
