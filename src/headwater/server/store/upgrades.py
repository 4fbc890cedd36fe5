"""What a migration cannot say in SQL: rows that are made from the events of an older store."""

from msgspec import Raw, Struct, json

from headwater.openlineage.facets import Facets
from headwater.server.store.database import Session
from headwater.server.store.log import read_bodies
from headwater.server.store.rows import RunIoRow, record_facets, version_of
from headwater.server.store.tables import DECLARED, OUTPUT, upsert

_SLICE = 500  # events that are read at once
_DECLARED = (
    "SELECT t.dataset, t.schema, t.time, t.tie, t.seq, n.name, d.name, s.digest FROM touch t "
    "JOIN dataset d ON d.id = t.dataset JOIN namespace n ON n.id = d.namespace "
    "JOIN schema s ON s.id = t.schema WHERE t.io = ? ORDER BY t.dataset, t.time, t.tie"
)


class _Dataset(Struct):
    facets: dict[str, Raw] | None = None


class _Body(Struct):
    dataset: _Dataset | None = None


_decode = json.Decoder(_Body).decode


def add_declared_versions(session: Session) -> None:
    """Add the versions that dataset events told before they made any."""
    found: dict[tuple[int, int], RunIoRow] = {}
    rows = session.all(_DECLARED, DECLARED)
    for start in range(0, len(rows), _SLICE):
        part = rows[start : start + _SLICE]
        bodies = read_bodies(session, [row[4] for row in part])
        for dataset, schema, time, tie, seq, namespace, name, digest in part:
            row = found.get((dataset, schema))
            if row is None:
                version = version_of(b"", namespace, name, bytes(digest))
                row = RunIoRow(0, OUTPUT, dataset, schema, time, time, {}, {}, version)
                found[dataset, schema] = row
            row.last = time
            record_facets(row.facets, _facets(bodies.get(seq)), (time, tie, seq))
    session.many(upsert("run_io"), [row.row() for row in found.values()])


def _facets(body: bytes | None) -> Facets:
    told = _decode(body).dataset if body else None
    return told.facets or {} if told else {}
