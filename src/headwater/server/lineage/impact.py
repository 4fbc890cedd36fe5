"""Everything downstream of a node (its impact) or upstream (its origin), by distance.

Distance counts jobs. What data flows into is DIRECT; what it only decides about, by a filter,
a join or a sort, is INDIRECT. Between datasets the columns tell which; where none are known
the data is taken to flow. A job leads from an input only to the outputs that depend on it.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from headwater.api.history import ImpactItem
from headwater.openlineage.graph import Way
from headwater.openlineage.names import FieldName, JobName, NodeId, NodeKind
from headwater.server.lineage import datasets, jobs
from headwater.server.lineage.columns import Column, ColumnWalk, Step
from headwater.server.lineage.dependencies import Dependencies, declared_beside
from headwater.server.lineage.facets import FacetBook, Wanted, dataset_facets, job_facets
from headwater.server.lineage.runs import ShownRun, latest_rows
from headwater.server.lineage.view import StoreView, moment, uuid_text
from headwater.server.lineage.walk import Walk
from headwater.server.store.rows import FacetSources
from headwater.server.store.tables import INPUT, OUTPUT

DIRECT, INDIRECT = "DIRECT", "INDIRECT"


class _OwnerFacet(Struct):
    owners: list[dict[str, Any]] | None = None


_owners = msgspec.json.Decoder(_OwnerFacet)


def reached(view: StoreView, node: NodeId, way: Way, depth: int) -> list[ImpactItem] | None:
    """What is reached from a node, nearest first; None where there is no such node."""
    walk = _Directed(view, way)
    if node.kind is NodeKind.FIELD:
        column = view.find_field(node)
        columns = ColumnWalk(view)
        if column is None or not columns.knows(column):
            return None
        return _Teller(view, walk).columns(_Columns(columns, way).follow([column], depth))
    if node.kind is NodeKind.JOB:
        job = view.find_job(node)
        if job is None:
            return None
        walk.from_job(job, depth)
    else:
        root = view.find_dataset(node)
        if root is None:
            return None
        walk.from_dataset(root, depth)
    return _Teller(view, walk).nodes(_kinds(view, walk, depth))


class _Directed(Walk):
    """A walk in one direction; `jobs` and `reached` have distances, `via` who leads where."""

    def __init__(self, view: StoreView, way: Way) -> None:
        super().__init__(view)
        self.way = way
        self._is_down = way is Way.DOWNSTREAM
        self._dependencies = Dependencies(view, self.inputs)
        self.start: set[int] = set()
        self.jobs: dict[int, int] = {}
        self.reached: dict[int, int] = {}
        self.via: dict[int, set[int]] = {}

    def from_job(self, job: int, depth: int) -> None:
        """Follow what a job writes, or reads."""
        self._take_new({job})
        self.start = {*(self.outputs if self._is_down else self.inputs)[job]}
        for root in self.start:
            self.reached[root] = 1
            self.via[root] = {job}
        self._follow(depth, 1)
        self.jobs.pop(job, None)

    def from_dataset(self, root: int, depth: int) -> None:
        """Follow a dataset."""
        self.start = {root}
        self._follow(depth, 0)
        self.reached.pop(root, None)

    def _follow(self, depth: int, done: int) -> None:
        """Go on from the start, a job at a time; a job may be passed again from another input."""
        known, level = {*self.start}, self.start
        for distance in range(done + 1, depth + 1):
            found = self.jobs_of(level, INPUT if self._is_down else OUTPUT)
            self._take_new(found - self.inputs.keys())
            reached: set[int] = set()
            for job in found:
                self.jobs.setdefault(job, distance)
                for root in self._beyond(job, level):
                    self.via.setdefault(root, set()).add(job)
                    reached.add(root)
            declared = declared_beside(self.view, level, self.way)
            level = (reached | declared) - known
            if not level:
                return
            known |= level
            self.reached |= dict.fromkeys(level, distance)

    def _take_new(self, jobs: set[int]) -> None:
        if jobs:
            self.take(jobs)
            self._dependencies.load(jobs)

    def _beyond(self, job: int, level: set[int]) -> set[int]:
        """What a job makes of some datasets, or makes them of."""
        inputs_of, whole = self._dependencies.inputs_of, self.inputs[job]
        if not self._is_down:
            given = (inputs_of(job, output) for output in self.outputs[job] & level)
            return set[int]().union(*{id(some): some for some in given}.values())
        # Most outputs depend on all inputs; there may be thousands of both.
        is_met = not whole.isdisjoint(level)
        return {
            root
            for root in self.outputs[job]
            if (is_met if (some := inputs_of(job, root)) is whole else not some.isdisjoint(level))
        }


class _Columns:
    """Columns that are reached, with distance, kind and the jobs that lead there."""

    def __init__(self, walk: ColumnWalk, way: Way) -> None:
        self.walk, self.way = walk, way
        self.found: dict[Column, tuple[int, str]] = {}
        self.via: dict[Column, set[int]] = {}

    def follow(self, start: Iterable[Column], depth: int) -> "_Columns":
        """Follow columns, a level at a time; by direct steps first."""
        begin = [*start]
        follow = self.walk.downstream if self.way is Way.DOWNSTREAM else self.walk.upstream
        follow(begin, depth)
        beside: dict[Column, list[tuple[Column, list[Step]]]] = {}
        for (to, origin), steps in self.walk.steps.items():
            near, far = (origin, to) if self.way is Way.DOWNSTREAM else (to, origin)
            beside.setdefault(near, []).append((far, steps))
        for kinds in ((DIRECT,), (DIRECT, INDIRECT)):
            self._spread(begin, beside, kinds, depth)
        for column in begin:
            self.found.pop(column, None)
        return self

    def _spread(
        self,
        begin: list[Column],
        beside: dict[Column, list[tuple[Column, list[Step]]]],
        kinds: tuple[str, ...],
        depth: int,
    ) -> None:
        seen, level = {*begin}, begin
        for distance in range(1, depth + 1):
            following: list[Column] = []
            for near in level:
                for far, steps in beside.get(near, ()):
                    used = [step for step in steps if kind_of(step) in kinds]
                    if not used:
                        continue
                    self.via.setdefault(far, set()).update(step.job for step in used)
                    if far not in seen:
                        seen.add(far)
                        following.append(far)
                        self.found.setdefault(far, (distance, kinds[-1]))
            level = following


def kind_of(step: Step) -> str:
    """Whether data flows on a step, or only decides."""
    told = {kind for kind, *_ in step.given.steps if kind}
    if told:
        return INDIRECT if told == {INDIRECT} else DIRECT
    return DIRECT if step.output is not None else INDIRECT


def _kinds(view: StoreView, walk: _Directed, depth: int) -> dict[int, str]:
    """The kind of each dataset that columns are known to lead to."""
    columns = ColumnWalk(view)
    columns.load_mappings(walk.start)
    start = [c for root in sorted(walk.start) for c in columns.columns_of(root)]
    kinds: dict[int, str] = {}
    for (root, _), (_, kind) in _Columns(columns, walk.way).follow(start, depth).found.items():
        kinds[root] = DIRECT if DIRECT in (kind, kinds.get(root)) else INDIRECT
    return kinds


class _Teller:
    """Writes what was reached; what that needs is read for all of it at once."""

    def __init__(self, view: StoreView, walk: _Directed) -> None:
        self._view, self._walk = view, walk

    def nodes(self, kinds: dict[int, str]) -> list[ImpactItem]:
        """Jobs and datasets, nearest first."""
        walk = self._walk
        self._prepare({*walk.reached}, {*walk.jobs} | {j for v in walk.via.values() for j in v})
        items = [self._dataset(r, None, d, kinds.get(r, DIRECT), walk.via.get(r, set()))
                 for r, d in walk.reached.items()]  # fmt: skip
        items += [self._job(job, distance, kinds) for job, distance in walk.jobs.items()]
        return self._own(items, lambda item: (item.distance, item.type != "JOB", item.node_id))

    def columns(self, columns: _Columns) -> list[ImpactItem]:
        """Columns, nearest first."""
        self._prepare({c[0] for c in columns.found}, {j for v in columns.via.values() for j in v})
        items = [
            self._dataset(root, field, distance, kind, columns.via[root, field])
            for (root, field), (distance, kind) in columns.found.items()
        ]
        return self._own(items, lambda item: (item.distance, item.node_id))

    def _own(self, items: list[ImpactItem], order: Callable[[ImpactItem], Any]) -> list[ImpactItem]:
        """What is of the view's namespaces."""
        covers = self._view.scope.covers
        return sorted((item for item in items if covers(item.namespace)), key=order)

    def _prepare(self, roots: set[int], ids: set[int]) -> None:
        view, ids = self._view, ids - {0}
        self._rows = datasets.rows_of(view, roots)
        self._names = view.names.of(roots)
        self._jobs = jobs.job_rows(view, [*ids])
        self._ids = {n: str(JobName(row.namespace, row.name)) for n, row in self._jobs.items()}
        self._runs = {n: ShownRun.of(row) for n, row in latest_rows(view, [*ids]).items()}
        self._tags = datasets.Tags(view, [*roots])
        self._job_tags = jobs.job_tags(view, [*ids])
        wanted = [_dataset_owners(row) for row in self._rows.values()]
        wanted += [_job_owners(row) for row in self._jobs.values()]
        self._book = FacetBook(view, wanted)

    def _job(self, job: int, distance: int, kinds: dict[int, str]) -> ImpactItem:
        row, walk = self._jobs[job], self._walk
        side = walk.outputs if walk.way is Way.DOWNSTREAM else walk.inputs
        led = {kinds.get(r, DIRECT) for r in side[job] & walk.reached.keys()} or {DIRECT}
        near = walk.inputs if walk.way is Way.DOWNSTREAM else walk.outputs
        via = {v for root in near[job] for v in walk.via.get(root, ()) if v != job}
        owners = _owner_names(self._book.get(_job_owners(row)))
        return ImpactItem(
            self._ids[job], "JOB", row.namespace, row.name, None, distance,
            DIRECT if DIRECT in led else INDIRECT, sorted(self._ids[v] for v in via), owners,
            self._job_tags.get(job, []), *_last(self._runs.get(job)),
        )  # fmt: skip

    def _dataset(
        self, root: int, field: str | None, distance: int, kind: str, via: set[int]
    ) -> ImpactItem:
        row = self._rows[root]
        name = self._names[root]
        runs = [self._runs[job] for job in via if job in self._runs]
        last = max(runs, key=lambda run: (run.created_at, run.uuid), default=None)
        facets = self._book.get(_dataset_owners(row))
        node_id = str(name) if field is None else str(FieldName(*name, field))
        kind_of_node = "DATASET" if field is None else "DATASET_FIELD"
        leads = sorted(self._ids[job] for job in via if job in self._ids)
        return ImpactItem(
            node_id, kind_of_node, name.namespace, name.name, field, distance, kind, leads,
            _owner_names(facets), self._tags.of(root, field or ""), *_last(last),
        )  # fmt: skip


def _job_owners(row: jobs.JobRowShown) -> Wanted:
    return job_facets(_only_owners(row.facets))


def _dataset_owners(row: datasets.Row) -> Wanted:
    return dataset_facets(_only_owners(row.facets), row.names)


def _only_owners(sources: FacetSources) -> FacetSources:
    return {name: stamp for name, stamp in sources.items() if name == "ownership"}


def _owner_names(facets: dict[str, Any]) -> list[str]:
    raw = facets.get("ownership")
    if raw is None:
        return []
    try:
        told = _owners.decode(raw).owners or []
    except msgspec.ValidationError:
        return []
    return [str(owner["name"]) for owner in told if owner.get("name")]


def _last(run: ShownRun | None) -> tuple[str | None, str | None, datetime | None]:
    if run is None:
        return None, None, None
    return run.state, uuid_text(run.uuid), moment(run.started_at or run.created_at)
