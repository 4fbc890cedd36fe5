"""What runs read and wrote, and which version of each dataset that was."""

from typing import Any, NamedTuple

from headwater.server.lineage.view import StoreView
from headwater.server.store.rows import FacetSources, unpack_sources, version_of
from headwater.server.store.tables import INPUT


class Io(NamedTuple):
    """A dataset that a run read or wrote."""

    dataset: int
    name: tuple[str, str]
    version: bytes | None
    own: FacetSources


# A run, whether it read or wrote, a dataset's root, which version that was, what the event said
# of it alone, and since and until when. Graphs have thousands: they are left as they were read.
IoRow = tuple[int, int, int, bytes | None, bytes, int, int]


def io_rows(view: StoreView, runs: list[int]) -> list[IoRow]:
    """What runs read and wrote."""
    rows: list[Any] = view.session.all(
        "SELECT io.run, io.io, d.root, "
        "CASE io.io WHEN 1 THEN io.version ELSE (SELECT v.version FROM run_io v "
        "WHERE v.dataset = io.dataset AND v.io = 1 AND v.since <= io.since AND v.written >= 0 "
        "ORDER BY v.since DESC, v.version DESC LIMIT 1) END, io.own, io.since, io.last "
        "FROM run_io io JOIN dataset d ON d.id = io.dataset WHERE io.run = ANY(?) "
        "AND io.io IN (0, 1)", runs,
    )  # fmt: skip
    several = several_names(view, {row[2] for row in rows if row[1] == INPUT})
    first = first_reads(
        view, {row[2] for row in rows if row[3] is None and row[1] == INPUT} - several
    )
    unknown = [n for n, row in enumerate(rows) if row[3] is None or row[2] in several]
    for place in unknown:
        run, io, root, version, own, since, last = rows[place]
        if io == INPUT and root in several:
            version = version_at(view, root, since)
        rows[place] = run, io, root, version or first.get(root), own, since, last
    return rows


def ios_of(view: StoreView, rows: list[IoRow]) -> dict[tuple[int, int], list[Io]]:
    """What runs read and wrote, by (run, io); of a dataset its last version there.

    Of datasets outside of the view's namespaces only the name is told.
    """
    names = dataset_names(view, {row[2] for row in rows})
    own_roots = view.names.own(names)
    chosen: dict[tuple[int, int, int], IoRow] = {}
    for row in rows:
        known = chosen.setdefault(row[:3], row)
        if known is not row and _rank(known) < _rank(row):
            chosen[row[:3]] = row
    grouped: dict[tuple[int, int], list[Io]] = {}
    for run, io, root, version, own, _, _ in sorted(chosen.values(), key=lambda r: names[r[2]]):
        is_own = root in own_roots
        told = (version, unpack_sources(own)) if is_own else (None, {})
        found = Io(root, names[root], *told)
        grouped.setdefault((run, io), []).append(found)
    return grouped


def _rank(row: IoRow) -> tuple[int, bytes, list[tuple[int, int]]]:
    """What decides which version of a dataset is the last that a run read or wrote."""
    _, _, _, version, own, _, last = row
    return last, version or b"", sorted(stamp[:2] for stamp in unpack_sources(own).values())


def dataset_names(view: StoreView, ids: set[int]) -> dict[int, tuple[str, str]]:
    """The names of datasets by id."""
    return {**view.names.of(ids)}


def several_names(view: StoreView, roots: set[int]) -> set[int]:
    """Those of some datasets that have more than one name."""
    rows = view.session.all(
        "SELECT root FROM dataset WHERE root = ANY(?) GROUP BY root HAVING count(*) > 1", [*roots]
    )
    return {row[0] for row in rows}


def version_at(view: StoreView, root: int, at: int) -> bytes | None:
    """The version of a dataset at a moment: the last written, else what was first read."""
    return versions_at(view, {root}, at).get(root)


def versions_at(view: StoreView, roots: set[int], at: int) -> dict[int, bytes]:
    """The versions of datasets at a moment."""
    rows = view.session.all(
        "SELECT d.root, io.since, io.version FROM dataset d "
        "JOIN run_io io ON io.dataset = d.id AND io.io = 1 AND io.written >= 0 "
        "AND io.since = (SELECT x.since FROM run_io x WHERE x.dataset = d.id AND x.io = 1 "
        "AND x.written >= 0 AND x.since <= ? ORDER BY x.since DESC LIMIT 1) "
        "WHERE d.root = ANY(?)", at, [*roots],
    )  # fmt: skip
    written: dict[int, tuple[int, bytes]] = {}
    for root, since, version in rows:
        written[root] = max(written.get(root, (since, version)), (since, version))
    found = {root: version for root, (_, version) in written.items()}
    return found | first_reads(view, roots - found.keys())


def first_read(view: StoreView, root: int) -> bytes | None:
    """The version that stands for a dataset that nobody was seen to write yet."""
    return first_reads(view, {root}).get(root)


def first_reads(view: StoreView, roots: set[int]) -> dict[int, bytes]:
    """The versions that stand for datasets that nobody was seen to write yet."""
    if not roots:
        return {}
    rows = view.session.all(
        "SELECT d.root, io.since, r.uuid, n.name, d.name, s.digest FROM dataset d "
        "JOIN namespace n ON n.id = d.namespace JOIN run_io io ON io.dataset = d.id AND io.io = 0 "
        "AND io.since = (SELECT min(x.since) FROM run_io x WHERE x.dataset = d.id AND x.io = 0) "
        "JOIN run r ON r.id = io.run LEFT JOIN schema s ON s.id = io.schema "
        "WHERE d.root = ANY(?)", [*roots],
    )  # fmt: skip
    first: dict[int, tuple[int, bytes, str, str, bytes]] = {}
    for root, since, run, namespace, name, schema in rows:
        found = (since, run, namespace, name, schema or b"")
        first[root] = min(first.get(root, found), found)
    return {root: version_of(*found[1:]) for root, found in first.items()}
