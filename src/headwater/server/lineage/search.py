"""Finds jobs, datasets, columns and runs by a part of their name."""

from collections.abc import Callable
from typing import Any, NamedTuple

from headwater.api.search import SearchResult
from headwater.openlineage.names import DatasetName, FieldName, JobName
from headwater.server.lineage.matching import DATASETS, FIELDS, JOBS, Match, matches, near_matches
from headwater.server.lineage.runs import LISTED
from headwater.server.lineage.schemas import unlisted_by_name
from headwater.server.lineage.view import StoreView, moment, uuid_text

TYPES = ("job", "dataset", "column", "run")
_MOST = 1000  # names that are looked through
_FEW = 5  # things, below which misspelt ones are looked for too
MORE = 4  # times as many names are read as are shown: some are hidden, or other names


class Wanted(NamedTuple):
    """What is searched for."""

    text: str
    kind: str | None = None
    namespace: str | None = None
    after: int | None = None
    before: int | None = None
    by_name: bool = False


# The datasets that go by some names, with the name that matched.
_DATASETS = (
    "SELECT n.name, d.name, d.updated_at, m.id, d.id FROM dataset m "
    "JOIN dataset d ON d.id = m.root "
    "JOIN namespace n ON n.id = d.namespace WHERE m.id = ANY(?) AND NOT d.hidden"
)
_JOBS = (
    "SELECT n.name, d.name, d.updated_at, d.id, 0 FROM job d "
    "JOIN namespace n ON n.id = d.namespace WHERE d.id = ANY(?) AND NOT d.hidden"
)
NAMED = {"DATASET": (DATASETS, _DATASETS), "JOB": (JOBS, _JOBS)}


def narrowed(view: StoreView, sql: str, wanted: Wanted) -> tuple[str, list[Any]]:
    """A statement that finds only what is in the wanted namespace and time, and its parameters."""
    is_job = sql == _JOBS
    own, params = view.scope.within("d.namespace") if is_job else view.scope.has_dataset("d.id")
    sql += own
    # A limited view may show a dataset by another name than its root's: see `shown`.
    namespace = wanted.namespace if is_job or not view.scope.is_limited else None
    for value, clause in (
        (namespace, " AND n.name = ?"),
        (wanted.after, " AND d.updated_at >= ?"),
        (wanted.before, " AND d.updated_at < ?"),
    ):
        if value is not None:
            sql += clause
            params.append(value)
    return sql, params


def shown(view: StoreView, rows: list[Any], namespace: str | None) -> list[Any]:
    """Rows that begin with a dataset's name and end with its root (0: a job), as it is shown."""
    if not view.scope.is_limited:
        return rows
    names = view.names.of(row[-1] for row in rows if row[-1])
    named = [(*names.get(row[-1], row[:2]), *row[2:]) for row in rows]
    return [row for row in named if namespace in (None, row[0])]


COLUMNS = (
    "SELECT DISTINCT n.name, d.name, d.updated_at, f.name, f.id, d.id FROM field_name f "
    "JOIN schema_field sf ON sf.name = f.id JOIN schema_span s ON s.schema = sf.schema "
    "AND s.since <= ? AND s.until > ? JOIN dataset m ON m.id = s.dataset "
    "JOIN dataset d ON d.id = m.root JOIN namespace n ON n.id = d.namespace "
    "WHERE f.id = ANY(?) AND NOT d.hidden"
)


_UNLISTED = (
    "SELECT n.name, d.name, d.updated_at, d.id FROM dataset d "
    "JOIN namespace n ON n.id = d.namespace WHERE d.id = ANY(?) AND NOT d.hidden"
)


def unlisted(view: StoreView, names: list[int], wanted: Wanted, limit: int) -> list[Any]:
    """Columns that only column lineage names, as `COLUMNS` gives them."""
    columns = unlisted_by_name(view, names, limit)
    if not columns:
        return []
    sql, params = narrowed(view, _UNLISTED, wanted)
    known = {
        row[3]: row[:3] for row in view.session.all(sql, [root for root, _ in columns], *params)
    }
    rows = view.session.all("SELECT name, id FROM field_name WHERE id = ANY(?)", names)
    ids: dict[str, int] = dict(rows)
    return [(*known[root], name, ids[name], root) for root, name in columns if root in known]


_Ranked = tuple[tuple[Any, ...], SearchResult]
_Find = Callable[[StoreView, str, str, int], list[Match]]


def search_all(
    view: StoreView, text: str, types: list[str], namespace: str | None, limit: int
) -> list[SearchResult]:
    """Jobs, datasets, columns and runs, best first: by name, by its beginning, misspelt last."""
    found = _all(view, text, types, namespace, limit, matches)
    if "run" in types:
        found += _runs(view, text, namespace, limit)
    if len(found) < _FEW:
        known = {thing.node_id for _, thing in found}
        near = _all(view, text, types, namespace, limit, near_matches)
        found += [one for one in near if one[1].node_id not in known]
    found.sort(key=lambda one: one[0])
    things = [thing for _, thing in found[:limit]]
    _add_states(view, things)
    return things


def _all(
    view: StoreView, text: str, types: list[str], namespace: str | None, limit: int, match: _Find
) -> list[_Ranked]:
    found: list[_Ranked] = []
    if "job" in types:
        found += _things(view, "JOB", text, namespace, limit, match)
    if "dataset" in types:
        found += _things(view, "DATASET", text, namespace, limit, match)
    if "column" in types:
        found += _columns(view, text, namespace, limit, match)
    return found


def _things(
    view: StoreView, kind: str, text: str, namespace: str | None, limit: int, match: _Find
) -> list[_Ranked]:
    letter, sql = NAMED[kind]
    names = match(view, letter, text, MORE * limit + 20)
    ranks = {match.target: match for match in names}
    sql, params = narrowed(view, sql, Wanted(text, namespace=namespace))
    rows = shown(view, view.session.all(sql, [*ranks], *params), namespace)
    name = DatasetName if kind == "DATASET" else JobName
    best: dict[str, _Ranked] = {}  # a dataset may match by several of its names
    for space, told, updated, number, _ in rows:
        id_ = str(name(space, told))
        found = SearchResult(kind, told, moment(updated), space, id_, None, None)
        ranked = (_rank(ranks[number], updated, kind), found)
        best[id_] = min(ranked, best.get(id_, ranked), key=lambda one: one[0])
    return [*best.values()]


def _rank(match: Match, updated: int, kind: str) -> tuple[Any, ...]:
    return (*match.rank[:3], kind == "COLUMN", -updated, match.name)


def _columns(
    view: StoreView, text: str, namespace: str | None, limit: int, match: _Find
) -> list[_Ranked]:
    names = match(view, FIELDS, text, MORE * limit + 20)
    sql, params = narrowed(view, COLUMNS, Wanted(text, namespace=namespace))
    found: list[_Ranked] = []
    for part in (names[:limit], names[limit:]):  # the best names first, and often they are enough
        ranks = {match.target: match for match in part}
        if not ranks or len(found) >= limit:
            break
        rows = view.session.all(f"{sql} LIMIT ?", view.at, view.at, [*ranks], *params, MORE * limit)
        rows += unlisted(view, [*ranks], Wanted(text, namespace=namespace), limit)
        found += [
            (
                _rank(ranks[number], updated, "COLUMN"),
                SearchResult(
                    "COLUMN", dataset, moment(updated), space,
                    str(FieldName(space, dataset, field)), field, None,
                ),
            )
            for space, dataset, updated, field, number, _ in shown(view, rows, namespace)
        ]  # fmt: skip
    return found


def _runs(view: StoreView, text: str, namespace: str | None, limit: int) -> list[_Ranked]:
    """Runs whose id begins with the text."""
    digits = text.lower().replace("-", "")
    if not 4 <= len(digits) <= 32 or not all(c in "0123456789abcdef" for c in digits):
        return []
    least, most = (bytes.fromhex(digits.ljust(32, fill)) for fill in "0f")
    where, params = view.scope.within("j.namespace")
    if namespace is not None:
        where, params = f"{where} AND n.name = ?", [*params, namespace]
    rows = view.session.all(
        "SELECT r.uuid, n.name, j.name, r.updated_at, r.state FROM run r "
        "JOIN job j ON j.id = r.job JOIN namespace n ON n.id = j.namespace "
        f"WHERE r.uuid >= ? AND r.uuid <= ? AND r.{LISTED}{where} LIMIT ?",
        least, most, *params, limit,
    )  # fmt: skip
    exact = 0 if len(digits) == 32 else 1
    return [
        (
            (exact, 0.0, 36, False, -updated, name),
            SearchResult(
                "RUN", name, moment(updated), space, f"run:{uuid_text(uuid)}", None, state
            ),
        )
        for uuid, space, name, updated, state in rows
    ]


def _add_states(view: StoreView, things: list[SearchResult]) -> None:
    """Tell the state of each job's last run."""
    jobs = [thing for thing in things if thing.type == "JOB"]
    if not jobs:
        return
    rows = view.session.all(
        "SELECT n.name, j.name, (SELECT r.state FROM run r WHERE r.job = j.id "
        f"AND r.{LISTED} ORDER BY r.created_at DESC, r.uuid DESC LIMIT 1) "
        "FROM job j JOIN namespace n ON n.id = j.namespace "
        "WHERE n.name = ANY(?) AND j.name = ANY(?)",
        [*{thing.namespace for thing in jobs}], [*{thing.name for thing in jobs}],
    )  # fmt: skip
    states = {(namespace, name): state for namespace, name, state in rows}
    for thing in jobs:
        thing.state = states.get((thing.namespace, thing.name))
