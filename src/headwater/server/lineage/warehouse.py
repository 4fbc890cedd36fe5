"""Tables of a warehouse: datasets with a catalog's name, or with snapshots that runs told of."""

from typing import Any

from headwater.api.base import Name
from headwater.api.datasets import Snapshot, WarehouseTable
from headwater.openlineage.facets import snapshot_ids
from headwater.server.lineage.reports import some_reports
from headwater.server.lineage.view import StoreView, moment, uuid_text
from headwater.server.store.tables import OUTPUT

_STORES = ("s3://", "gs://", "abfs", "wasb", "oss://", "hdfs://", "file")
_MOST = 500


def tables(view: StoreView) -> list[WarehouseTable]:
    """Tables, those with the newest snapshots first."""
    counts, newest = _snapshots(view)
    known = _named(view, [*counts])
    found = [_table(rows, counts, newest) for rows in known.values()]
    found.sort(key=lambda one: one.last.at if one.last else one.updated_at, reverse=True)
    return found[:_MOST]


def _table(rows: list[Any], counts: dict[int, int], newest: dict[int, Snapshot]) -> WarehouseTable:
    shown = next(row for row in rows if row[0] == row[1])
    aliases = [Name(namespace, name) for root, id_, namespace, name, _ in rows if id_ != root]
    root, _, namespace, name, updated = shown
    return WarehouseTable(
        namespace, name, aliases, moment(updated), counts.get(root, 0), newest.get(root)
    )


def _named(view: StoreView, roots: list[int]) -> dict[int, list[Any]]:
    """All names of each table: of those with snapshots, and of folders that a catalog names."""
    rows = view.session.all(
        "SELECT d.root, d.id, n.name, d.name, d.updated_at FROM dataset d "
        "JOIN namespace n ON n.id = d.namespace JOIN dataset r ON r.id = d.root "
        "WHERE NOT r.hidden AND (d.root IN (SELECT root FROM dataset WHERE id <> root) "
        "OR d.root = ANY(?))", roots,
    )  # fmt: skip
    found: dict[int, list[Any]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    wanted = set(roots)
    return {
        root: names
        for root, names in found.items()
        if root in wanted or any(one[2].startswith(_STORES) for one in names)
    }


def _snapshots(view: StoreView) -> tuple[dict[int, int], dict[int, Snapshot]]:
    """How many snapshots each dataset was told to have, and the newest of them."""
    rows = view.session.all(
        "SELECT d.root, s.run, s.seq, s.number, e.time, r.uuid FROM "
        "(SELECT run, max(seq) AS seq, count(*) AS number FROM snapshot GROUP BY run) s "
        "JOIN run_io o ON o.run = s.run AND o.io = ? JOIN dataset d ON d.id = o.dataset "
        "JOIN event e ON e.seq = s.seq JOIN run r ON r.id = s.run "
        "GROUP BY d.root, s.run, s.seq, s.number, e.time, r.uuid ORDER BY e.time", OUTPUT,
    )  # fmt: skip
    counts: dict[int, int] = {}
    by_root: dict[int, list[Any]] = {}
    for row in rows:
        counts[row[0]] = counts.get(row[0], 0) + row[3]
        by_root.setdefault(row[0], []).append(row)
    return counts, _newest(view, by_root)


def _newest(view: StoreView, waiting: dict[int, list[Any]]) -> dict[int, Snapshot]:
    """The last snapshot of each dataset by rows of its reports, of which the latest is last."""
    found: dict[int, Snapshot] = {}
    while waiting:
        latest = {root: rows.pop() for root, rows in waiting.items()}
        seqs = dict.fromkeys(row[2] for row in latest.values())
        ids = {
            seq: told[-1]
            for seq, facet in some_reports(view, [*seqs])
            if (told := snapshot_ids(facet))
        }
        for root, (*_, seq, _, time, uuid) in latest.items():
            if seq in ids:
                found[root] = Snapshot(ids[seq], moment(time), uuid_text(uuid))
        waiting = {root: rows for root, rows in waiting.items() if rows and root not in found}
    return found
