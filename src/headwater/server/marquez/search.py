"""Finds jobs and datasets by a part of their name, as Marquez's search does; columns too."""

from typing import NamedTuple

from headwater.api.search import SearchResult
from headwater.openlineage.names import DatasetName, FieldName, JobName
from headwater.server.lineage.matching import FIELDS, matches
from headwater.server.lineage.search import COLUMNS, MORE, NAMED, Wanted, narrowed, shown, unlisted
from headwater.server.lineage.view import StoreView, moment

_MOST = 1000  # names that are looked through


class _Found(NamedTuple):
    kind: str
    namespace: str
    name: str
    updated: int
    field: str | None


def search(view: StoreView, wanted: Wanted, limit: int) -> tuple[list[SearchResult], int]:
    """What matches, best first, and how much there is, as far as was looked."""
    kinds = [wanted.kind] if wanted.kind else ["DATASET", "JOB"]
    found: list[_Found] = []
    more = 0
    for kind in kinds:
        if kind == "FIELD":
            found += _fields(view, wanted, limit)
        else:
            named, beyond = _named(view, kind, wanted, limit)
            found += named
            more += beyond
    text, is_by_time = wanted.text.lower(), not wanted.by_name and wanted.kind != "FIELD"
    found.sort(
        key=lambda one: (
            _distance(text, one.field or one.name),
            -one.updated if is_by_time else 0,
            one.name,
            one.namespace,
        )
    )
    return [_result(one) for one in found[:limit]], len(found) + more


def _result(found: _Found) -> SearchResult:
    kind, namespace, name, updated, field = found
    if field is not None:
        node = str(FieldName(namespace, name, field))
        return SearchResult(kind, name, moment(updated), namespace, node, field)
    of_kind = DatasetName if kind == "DATASET" else JobName
    return SearchResult(kind, name, moment(updated), namespace, str(of_kind(namespace, name)))


def _distance(text: str, name: str) -> int:
    """0 where the name is the text, 1 where it begins with it, else 2."""
    name = name.lower()
    return 0 if name == text else 1 if name.startswith(text) else 2


def _named(view: StoreView, kind: str, wanted: Wanted, limit: int) -> tuple[list[_Found], int]:
    """Jobs or datasets that match, and how many more names do that were not read."""
    letter, sql = NAMED[kind]
    names = matches(view, letter, wanted.text, _MOST)
    sql, params = narrowed(view, sql, wanted)
    # Where a narrower question or an order by name may choose any of them, all are read.
    few = len(names) if params or wanted.by_name else MORE * limit + 20
    rows = view.session.all(sql, [match.target for match in names[:few]], *params)
    told = {row[:2]: row for row in shown(view, rows, wanted.namespace)}  # several names may match
    found = [_Found(kind, space, name, at, None) for space, name, at, *_ in told.values()]
    return found, max(0, len(names) - few)


def _fields(view: StoreView, wanted: Wanted, limit: int) -> list[_Found]:
    """Columns: by their name, then the schemas that have it, then the datasets of these."""
    sql, params = narrowed(view, COLUMNS, wanted)
    ids = [match.target for match in matches(view, FIELDS, wanted.text, max(limit, 200))]
    rows = view.session.all(f"{sql} LIMIT ?", view.at, view.at, ids, *params, limit)
    rows += unlisted(view, ids, wanted, limit)
    rows = shown(view, rows, wanted.namespace)
    return [_Found("FIELD", space, name, at, field) for space, name, at, field, *_ in rows]
