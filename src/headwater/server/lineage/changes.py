"""The moments at which the graph changed, everywhere or around a node."""

from collections.abc import Iterable
from typing import Any

from headwater.api.history import Change
from headwater.openlineage.names import JobName
from headwater.server.lineage.jobs import job_names
from headwater.server.lineage.view import StoreView, moment, uuid_text
from headwater.server.lineage.walk import Walk

ADDED, REMOVED = "EDGE_ADDED", "EDGE_REMOVED"
SCHEMA, COLUMNS, JOINED = "SCHEMA_CHANGED", "COLUMNS_CHANGED", "NAMES_JOINED"
_SPANS = (
    (ADDED, "edge", "since", "job"),
    (REMOVED, "edge", "until", "job"),
    (SCHEMA, "schema_span", "since", "0"),
    (COLUMNS, "mapping_span", "since", "job"),
)


class _Moment:
    """What happened at one moment."""

    __slots__ = ("datasets", "jobs", "kinds")

    def __init__(self) -> None:
        self.kinds: dict[str, None] = {}
        self.jobs: set[int] = set()
        self.datasets: set[int] = set()


def changes(view: StoreView, since: int, walk: Walk | None, limit: int) -> list[Change]:
    """The last moments, oldest first, after a time and up to that of the view.

    Around a node, `walk` is of what was in its reach at any time in between.
    """
    found: dict[int, _Moment] = {}
    jobs = None if walk is None else {*walk.inputs}
    names = None if walk is None else {*view.names.members(walk.datasets)}
    for kind, table, time, job in _SPANS:
        for at, who, dataset in _rows(view, table, time, job, since, names, limit):
            if jobs is not None and table == "edge" and who not in jobs:
                continue
            told = found.setdefault(at, _Moment())
            told.kinds[kind] = None
            told.datasets.add(dataset)
            told.jobs |= {who} - {0}
    for at, a, b in _joined(view, since, limit):
        if names is None or a in names:
            told = found.setdefault(at, _Moment())
            told.kinds[JOINED] = None
            told.datasets |= {a, b}
    latest = sorted(found)[-limit:] if limit else []
    return _tell(view, [(at, found[at]) for at in latest])


def _rows(
    view: StoreView, table: str, time: str, job: str, since: int,
    names: set[int] | None, limit: int,
) -> list[Any]:  # fmt: skip
    within = "" if names is None else " AND dataset = ANY(?)"
    params: list[Any] = [since, view.at, *([] if names is None else [[*names]])]
    return view.session.all(
        f"SELECT {time}, {job}, dataset FROM {table} WHERE {time} > ? AND {time} <= ?{within} "
        f"ORDER BY {time} DESC LIMIT ?", *params, limit * 8,
    )  # fmt: skip


def _joined(view: StoreView, since: int, limit: int) -> list[Any]:
    return view.session.all(
        "SELECT since, a, b FROM alias WHERE since > ? AND since <= ? ORDER BY since DESC LIMIT ?",
        since, view.at, limit,
    )  # fmt: skip


def _tell(view: StoreView, moments: list[tuple[int, _Moment]]) -> list[Change]:
    names = job_names(view, {job for _, told in moments for job in told.jobs})
    roots = view.names.shown({d for _, told in moments for d in told.datasets})
    datasets = view.names.of(roots.values())
    runs = _runs(view, moments)
    answers = []
    for at, told in moments:
        ids = {str(JobName(*names[job])) for job in told.jobs if job in names}
        ids |= {str(datasets[roots[d]]) for d in told.datasets if d in roots}
        answers.append(Change(moment(at), [*told.kinds], sorted(ids), runs.get(at)))
    return answers


def _runs(view: StoreView, moments: Iterable[tuple[int, _Moment]]) -> dict[int, str]:
    """A run that spoke at each moment of what changed then."""
    told = dict(moments)
    rows = view.session.all(
        "SELECT t.time, t.dataset, t.job, r.uuid FROM dataset_observation t "
        "JOIN run r ON r.id = t.run WHERE t.dataset = ANY(?) AND t.time = ANY(?) "
        "AND r.state <> 'DECLARED'",
        [*{d for found in told.values() for d in found.datasets}], [*told],
    )  # fmt: skip
    runs: dict[int, tuple[bool, bytes]] = {}
    for at, dataset, job, uuid in rows:
        if dataset in told[at].datasets:
            found = (job not in told[at].jobs, bytes(uuid))
            runs[at] = min(runs.get(at, found), found)
    return {at: uuid_text(uuid) for at, (_, uuid) in runs.items()}
