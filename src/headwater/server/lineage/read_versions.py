"""Which version of a table a run told to have read or written, and the order of snapshots."""

from collections.abc import Iterable

from headwater.openlineage.facets import text_of
from headwater.server.lineage.facets import FacetBook, Wanted, dataset_facets
from headwater.server.lineage.reports import reports
from headwater.server.lineage.view import StoreView
from headwater.server.store.rows import unpack_sources
from headwater.server.store.tables import OUTPUT

_VERSION = "version"  # OpenLineage's facet
_EARLIEST = 20  # snapshots of which one is taken for the first


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


class SnapshotOrder:
    """Tells whether a version of a table was read after some snapshots had been made."""

    def __init__(self, view: StoreView, root: int, snapshots: Iterable[str]) -> None:
        self._view, self._root, self._snapshots = view, root, frozenset(snapshots)
        self._sequences: dict[str, int] = {}
        self._first: int | None = None
        if self._snapshots:
            self._first = self._load([*self._snapshots], _EARLIEST)

    def holds(self, versions: Iterable[str]) -> dict[str, bool | None]:
        """Whether each version has one of the snapshots; None where that cannot be told."""
        wanted = [*dict.fromkeys(versions)]
        if self._first is not None:
            self._load([one for one in wanted if one not in self._sequences], len(wanted))
        return {one: self._holds(one) for one in wanted}

    def _holds(self, version: str) -> bool | None:
        if version in self._snapshots:
            return True
        number = self._sequences.get(version)
        if number is None or self._first is None:
            return None
        return number >= self._first

    def _load(self, snapshots: list[str], most: int) -> int | None:
        """The lowest sequence number of the snapshots that the table's writers told of first.

        Snapshots are told in the order in which they are made.
        """
        if not snapshots or not most:
            return None
        own, params = self._view.scope.has_job("r.job")
        rows = self._view.session.all(
            "SELECT min(s.seq) FROM snapshot s WHERE s.id = ANY(?) AND s.run IN "
            "(SELECT io.run FROM dataset d JOIN run_io io ON io.dataset = d.id AND io.io = ? "
            f"JOIN run r ON r.id = io.run WHERE d.root = ?{own}) GROUP BY s.id ORDER BY 1 LIMIT ?",
            snapshots, OUTPUT, self._root, *params, most,
        )  # fmt: skip
        wanted, found = {*snapshots}, set[str]()
        for _, facet in reports(self._view, sorted({row[0] for row in rows})):
            for commit in facet.commits or ():
                if commit.snapshot in wanted and commit.sequence is not None:
                    self._sequences.setdefault(commit.snapshot, commit.sequence)
                    found.add(commit.snapshot)
        return min((self._sequences[one] for one in found), default=None)
