"""Which version of a table a run told to have read or written, and the history of snapshots."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

from headwater.openlineage.facets import ProgressFacet, text_of
from headwater.server.lineage.facets import FacetBook, Wanted, dataset_facets
from headwater.server.lineage.reports import reports, some_reports
from headwater.server.lineage.view import StoreView
from headwater.server.store.rows import unpack_sources
from headwater.server.store.tables import OUTPUT

_VERSION = "version"  # OpenLineage's facet
_EARLIEST = 20  # snapshots of which one is taken for the first
_LATEST_RUNS = 50  # whose last snapshots are looked at
_MOST_RANGES = 20  # of a history, the latest ones
# A report does not say of which table a snapshot is.
_WRITES_ONE = (
    "(SELECT count(DISTINCT d.root) FROM run_io io JOIN dataset d ON d.id = io.dataset "
    "WHERE io.run = s.run AND io.io = ?) = 1"
)


def versions_told(view: StoreView, root: int, io: int, runs: list[int]) -> dict[int, str]:
    """The version of a dataset that runs told to have read or written, by run."""
    rows = view.session.all(
        "SELECT io.run, io.facets, n.name, d.name FROM dataset d "
        "JOIN namespace n ON n.id = d.namespace JOIN run_io io ON io.dataset = d.id AND io.io = ? "
        "WHERE d.root = ? AND io.run = ANY(?) ORDER BY io.last", io, root, runs,
    )  # fmt: skip
    wanted: dict[int, Wanted] = {}
    for run, packed, namespace, name in rows:
        sources = unpack_sources(packed)
        if _VERSION in sources:
            wanted[run] = dataset_facets({_VERSION: sources[_VERSION]}, [(namespace, name)])
    book = FacetBook(view, wanted.values())
    found = {run: text_of(book.get(one), _VERSION, "datasetVersion") for run, one in wanted.items()}
    return {run: version for run, version in found.items() if version}


class _Place(NamedTuple):
    """A snapshot among those of its table: its sequence number, and those it was made from."""

    number: int
    history: list[tuple[int, int]]
    table: str | None  # its UUID, which a table that is created again at its place does not have

    @property
    def since(self) -> int:
        """The number from which on its history is known."""
        return min((first for first, _ in self.history), default=self.number)


class SnapshotHistory:
    """Tells whether a version of a table was made from some snapshots.

    A later snapshot was not made from all earlier ones: a table may have been rolled back, and has
    branches. One that is earlier than all of the snapshots has nothing of them. A table that is
    created again at the place of another one numbers its snapshots anew.
    """

    def __init__(self, view: StoreView, root: int, snapshots: Iterable[str]) -> None:
        self._view, self._root, self._snapshots = view, root, frozenset(snapshots)
        self._places: dict[str, _Place] = {}
        found = self._load([*self._snapshots], _EARLIEST)
        self._starts = [self._places[one] for one in found]
        self._is_whole = len(found) == len(self._snapshots)

    def holds(self, versions: Iterable[str]) -> dict[str, bool | None]:
        """Whether each version has one of the snapshots; None where that cannot be told."""
        wanted = [*dict.fromkeys(versions)]
        if self._starts:
            self._load([one for one in wanted if one not in self._places], len(wanted))
        return {one: self._holds(one) for one in wanted}

    def _holds(self, version: str) -> bool | None:
        if version in self._snapshots:
            return True
        place = self._places.get(version)
        if place is None or not self._starts:
            return None
        own = [one.number for one in self._starts if _is_same(one, place)]
        possible = [one.number for one in self._starts if _may_be_same(one, place)]
        if (own or self._is_whole) and all(place.number < number for number in possible):
            return False
        if own and _has_any(place.history, own):
            return True
        if own and min(own) < place.since and _has_any(self._behind(place), own):
            return True
        return None

    def _behind(self, place: _Place) -> list[tuple[int, int]]:
        """The history of a snapshot with those of the last snapshots of runs in it.

        Where a run did not see snapshots that had expired before it, an earlier one did.
        """
        history = [*place.history]
        for one in self._last_of_runs:
            if not _is_same(one, place) or one.number >= place.number:
                continue
            if _has_any(history, [one.number]):
                history += one.history
        return history

    @cached_property
    def _last_of_runs(self) -> list[_Place]:
        """The last snapshots of the latest runs that wrote the table alone, the latest first."""
        rows = self._view.session.all(
            f"SELECT max(s.seq) FROM {self._of_writers} AND {_WRITES_ONE} GROUP BY s.run "
            "ORDER BY 1 DESC LIMIT ?", *self._parameters, OUTPUT, _LATEST_RUNS,
        )  # fmt: skip
        last = []
        for _, facet in some_reports(self._view, sorted({row[0] for row in rows})):
            told = [place for _, place in _told(facet)]
            last += [max(told, key=_number)] if told else []
        return sorted(last, key=_number, reverse=True)

    def _load(self, snapshots: list[str], most: int) -> list[str]:
        """Take the places of the snapshots that the table's writers told of first.

        Snapshots are told in the order in which they are made.
        """
        if not snapshots or not most:
            return []
        rows = self._view.session.all(
            f"SELECT min(s.seq) FROM {self._of_writers} AND s.id = ANY(?) GROUP BY s.id "
            "ORDER BY 1 LIMIT ?", *self._parameters, snapshots, most,
        )  # fmt: skip
        wanted = {*snapshots}
        for _, facet in reports(self._view, sorted({row[0] for row in rows})):
            for snapshot, place in _told(facet):
                if snapshot in wanted:
                    self._places.setdefault(snapshot, place)
        return [one for one in snapshots if one in self._places]

    @property
    def _of_writers(self) -> str:
        own, _ = self._view.scope.has_job("r.job")
        return (
            "snapshot s WHERE s.run IN (SELECT io.run FROM dataset d JOIN run_io io "
            "ON io.dataset = d.id AND io.io = ? JOIN run r ON r.id = io.run "
            f"WHERE d.root = ?{own})"
        )

    @property
    def _parameters(self) -> tuple[Any, ...]:
        _, own = self._view.scope.has_job("r.job")
        return OUTPUT, self._root, *own


def _told(facet: ProgressFacet) -> Iterator[tuple[str, _Place]]:
    """The snapshots that a report tells of; tables of format v1 do not count theirs."""
    for commit in facet.commits or ():
        if commit.snapshot is not None and commit.sequence:
            history = (commit.history or [])[-_MOST_RANGES:]
            yield commit.snapshot, _Place(commit.sequence, history, commit.table)
    snapshots = facet.snapshots or []
    if facet.sequence and len(snapshots) == 1:
        history = (facet.history or [])[-_MOST_RANGES:]
        yield snapshots[0], _Place(facet.sequence, history, facet.table)


_number = attrgetter("number")


def _is_same(one: _Place, other: _Place) -> bool:
    """Whether two snapshots are of one table for certain."""
    return one.table is not None and one.table == other.table


def _may_be_same(one: _Place, other: _Place) -> bool:
    return one.table is None or other.table is None or one.table == other.table


def _has_any(history: list[tuple[int, int]], numbers: list[int]) -> bool:
    return any(first <= number <= last for number in numbers for first, last in history)
