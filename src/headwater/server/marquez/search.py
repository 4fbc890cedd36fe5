"""Finds jobs and datasets by a part of their name, as Marquez's search does; columns too."""

from headwater.api.search import SearchResult
from headwater.openlineage.names import DatasetName, FieldName, JobName
from headwater.server.lineage.matching import FIELDS, matches
from headwater.server.lineage.search import COLUMNS, MORE, NAMED, Wanted, narrowed, shown, unlisted
from headwater.server.lineage.view import StoreView, moment

_MOST = 1000  # names that are looked through


def search(view: StoreView, wanted: Wanted, limit: int) -> tuple[list[SearchResult], int]:
    """What matches, best first, and how much there is, as far as was looked."""
    kinds = [wanted.kind] if wanted.kind else ["DATASET", "JOB"]
    found: list[SearchResult] = []
    more = 0
    for kind in kinds:
        if kind == "FIELD":
            found += _fields(view, wanted, limit)
        else:
            named, beyond = _named(view, kind, wanted, limit)
            found += named
            more += beyond
    text = wanted.text.lower()
    found.sort(key=lambda r: (_distance(text, r.field or r.name), r.name, r.namespace))
    if not wanted.by_name and wanted.kind != "FIELD":
        found.sort(key=lambda r: r.updated_at, reverse=True)
        found.sort(key=lambda r: _distance(text, r.name))
    return found[:limit], len(found) + more


def _distance(text: str, name: str) -> int:
    """0 where the name is the text, 1 where it begins with it, else 2."""
    name = name.lower()
    return 0 if name == text else 1 if name.startswith(text) else 2


def _named(
    view: StoreView, kind: str, wanted: Wanted, limit: int
) -> tuple[list[SearchResult], int]:
    """Jobs or datasets that match, and how many more names do that were not read."""
    letter, sql = NAMED[kind]
    names = matches(view, letter, wanted.text, _MOST)
    sql, params = narrowed(view, sql, wanted)
    # Where a narrower question or an order by name may choose any of them, all are read.
    few = len(names) if params or wanted.by_name else MORE * limit + 20
    rows = view.session.all(sql, [match.target for match in names[:few]], *params)
    rows = shown(view, rows, wanted.namespace)
    name = DatasetName if kind == "DATASET" else JobName
    told = {str(name(*row[:2])): row for row in rows}  # it may match by several of its names
    found = [SearchResult(kind, row[1], moment(row[2]), row[0], id_) for id_, row in told.items()]
    return found, max(0, len(names) - few)


def _fields(view: StoreView, wanted: Wanted, limit: int) -> list[SearchResult]:
    """Columns: by their name, then the schemas that have it, then the datasets of these."""
    sql, params = narrowed(view, COLUMNS, wanted)
    ids = [match.target for match in matches(view, FIELDS, wanted.text, max(limit, 200))]
    rows = view.session.all(f"{sql} LIMIT ?", view.at, view.at, ids, *params, limit)
    rows += unlisted(view, ids, wanted, limit)
    return [
        SearchResult(
            "FIELD", row[1], moment(row[2]), row[0], str(FieldName(row[0], row[1], row[3])), row[3]
        )
        for row in shown(view, rows, wanted.namespace)
    ]
