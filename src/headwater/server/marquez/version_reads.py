"""Facets that runs report of the versions of a dataset which they read, such as checks of them."""

from bisect import bisect_right

from msgspec import Raw

from headwater.openlineage.facets import Facets
from headwater.openlineage.quality import ASSERTIONS
from headwater.openlineage.times import FOREVER
from headwater.server.lineage.facets import FacetBook, Wanted, dataset_facets
from headwater.server.lineage.view import StoreView
from headwater.server.marquez.quality import add_up_checks
from headwater.server.store.rows import RunIoRow, Stamp, unpack_sources

_MOST = 1000  # reads that are looked at, the latest first


class VersionReads:
    """The reads of versions of one dataset that follow each other."""

    def __init__(self, view: StoreView, root: int, versions: list[RunIoRow]) -> None:
        self._reads: dict[bytes | None, list[tuple[int, Wanted]]] = {}
        standing = sorted(
            (one for one in versions if one.written >= 0),
            key=lambda one: (one.since, one.version or b""),
        )
        if standing:
            self._find(view, root, standing)
        self._book = FacetBook(view, [w for reads in self._reads.values() for _, w in reads])

    def _find(self, view: StoreView, root: int, versions: list[RunIoRow]) -> None:
        begun = [one.since for one in versions]
        ((until,),) = view.session.all(
            "SELECT min(io.since) FROM run_io io JOIN dataset d ON d.id = io.dataset "
            "WHERE d.root = ? AND io.io = 1 AND io.written >= 0 AND io.since > ?", root, begun[-1],
        )  # fmt: skip
        rows = view.session.all(
            "SELECT io.since, r.job, io.own, n.name, d.name FROM run_io io "
            "JOIN dataset d ON d.id = io.dataset JOIN namespace n ON n.id = d.namespace "
            "JOIN run r ON r.id = io.run WHERE d.root = ? AND io.io = 0 AND length(io.own) > 0 "
            "AND io.since >= ? AND io.since < ? ORDER BY io.since DESC LIMIT ?",
            root, begun[0], FOREVER if until is None else until, _MOST,
        )  # fmt: skip
        for since, job, own, namespace, name in rows:
            version = versions[bisect_right(begun, since) - 1].version
            wanted = dataset_facets(unpack_sources(own), [(namespace, name)])
            self._reads.setdefault(version, []).append((job, wanted))

    def add_to(self, version: RunIoRow, facets: Facets) -> Facets:
        """The facets of a version, and the latest of each that runs which read it report."""
        told: dict[str, list[tuple[Stamp, int, Raw]]] = {}
        for job, wanted in self._reads.get(version.version, ()):
            found = self._book.get(wanted)
            for name, stamp in wanted.sources:
                if name in found:
                    told.setdefault(name, []).append((stamp, job, found[name]))
        read = {name: max(some, key=lambda one: one[0])[2] for name, some in told.items()}
        if ASSERTIONS in told:
            ordered = sorted(told[ASSERTIONS], key=lambda one: one[0])
            read[ASSERTIONS] = add_up_checks((job, raw) for _, job, raw in ordered)
        return {**facets, **read}
