"""Versions of datasets: what each run wrote, and what dataset events tell."""

from typing import Any, NamedTuple

from headwater.api.base import Name
from headwater.api.datasets import DatasetVersion
from headwater.api.runs import Run
from headwater.server.lineage.datasets import UNTAGGED, Tags, rows_of
from headwater.server.lineage.facets import FacetBook, dataset_facets
from headwater.server.lineage.run_io import first_read
from headwater.server.lineage.runs import LISTED
from headwater.server.lineage.schemas import schema_ids
from headwater.server.lineage.view import StoreView, moment, uuid_text
from headwater.server.marquez.runs import RunWriter
from headwater.server.marquez.version_reads import VersionReads
from headwater.server.store.rows import RunIoRow, RunRow

_COLUMNS = ", ".join(f"io.{name}" for name in RunIoRow.__struct_fields__)
_VERSION = (
    f"SELECT r.uuid, d.root, n.name, d.name, s.digest, {_COLUMNS} FROM run_io io "
    "JOIN dataset d ON d.id = io.dataset JOIN namespace n ON n.id = d.namespace "
    "LEFT JOIN run r ON r.id = io.run LEFT JOIN schema s ON s.id = io.schema "
)


class _Version(NamedTuple):
    """A version: the run that wrote it, its dataset by root and by the name used, its schema."""

    run: bytes | None
    root: int
    namespace: str
    name: str
    schema: bytes
    io: RunIoRow

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> "_Version":
        run, root, namespace, name, schema = row[:5]
        return cls(run, root, namespace, name, schema or b"", RunIoRow.of(row[5:]))


def list_versions(
    view: StoreView, root: int, limit: int, offset: int
) -> tuple[list[DatasetVersion], int]:
    """A page of the versions of a dataset, latest first, and how many there are."""
    rows = view.session.all(
        f"{_VERSION} WHERE d.root = ? AND io.io = 1 ORDER BY io.since DESC, io.version DESC "
        "LIMIT ? OFFSET ?", root, limit, offset,
    )  # fmt: skip
    total = view.session.all(
        "SELECT count(*) FROM run_io io JOIN dataset d ON d.id = io.dataset "
        "WHERE d.root = ? AND io.io = 1", root,
    )[0][0]  # fmt: skip
    found, first = [_Version.of(row) for row in rows], _first_read(view, root)
    if len(found) < limit and offset <= total:
        found += first
    return _write(view, found), total + len(first)


def find_version(view: StoreView, root: int | None, version: bytes) -> DatasetVersion | None:
    """A version by its id."""
    own, params = view.scope.has_dataset("d.root")
    rows = view.session.all(f"{_VERSION} WHERE io.version = ?{own}", version, *params)
    found = [_Version.of(row) for row in rows[:1]]
    if not found and root is not None:
        found = [one for one in _first_read(view, root) if one.io.version == version]
    return _write(view, found)[0] if found else None


def _first_read(view: StoreView, root: int) -> list[_Version]:
    """What was read of a dataset before anybody was seen to write it."""
    rows = view.session.all(
        f"{_VERSION} WHERE d.root = ? AND io.io = 0 AND NOT EXISTS (SELECT 1 FROM run_io w "
        "JOIN dataset x ON x.id = w.dataset WHERE x.root = d.root AND w.io = 1 "
        "AND w.since <= io.since) AND io.since = (SELECT min(w.since) FROM run_io w "
        "JOIN dataset x ON x.id = w.dataset WHERE x.root = d.root AND w.io = 0)", root,
    )  # fmt: skip
    # Of several at that moment, the one by which `first_read` names the version.
    found = sorted((_Version.of(row) for row in rows), key=lambda one: one[:1] + one[2:5])[:1]
    for one in found:
        one.io.version = first_read(view, root)
    return found


def _write(view: StoreView, found: list[_Version]) -> list[DatasetVersion]:
    roots = [*{one.root for one in found}]
    shown, tags, current = rows_of(view, roots), Tags(view, roots), schema_ids(view, roots)
    schemas = view.schemas({one.io.schema for one in found if one.io.schema})
    wanted = [dataset_facets(one.io.facets, [(one.namespace, one.name)]) for one in found]
    book, runs = FacetBook(view, wanted), _runs(view, [one.io.run for one in found])
    versions: list[DatasetVersion] = []
    if not found:
        return versions
    reads = VersionReads(view, found[0].root, [one.io for one in found])
    for one, facets in zip(found, wanted, strict=True):
        row, io = shown[one.root], one.io
        known = tags if current.get(one.root) == io.schema else UNTAGGED
        versions.append(
            DatasetVersion(
                Name(row.namespace, row.name), "DB_TABLE", row.name, row.name, moment(io.since),
                uuid_text(io.version or b""), row.namespace, row.source,
                known.fields(row.id, schemas.get(io.schema)), known.of(row.id), row.lifecycle,
                row.description, uuid_text(one.schema) if one.schema else "", runs.get(io.run),
                reads.add_to(io, book.get(facets)),
            )
        )  # fmt: skip
    return versions


def _runs(view: StoreView, ids: list[int]) -> dict[int, Run]:
    own = [*view.scope.own_runs(ids)]
    rows = view.session.all(f"SELECT * FROM run WHERE id = ANY(?) AND {LISTED}", own)
    runs = [RunRow.of(row) for row in rows]
    writer = RunWriter(view, runs)
    return {run.id: writer.write(run) for run in runs}
