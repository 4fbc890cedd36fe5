"""Applies one event to the rows it speaks of.

Every change is a minimum, a maximum or the word of the latest event by its own time, so
that any order of the same events, with any repeats, ends in the same rows.
"""

from uuid import UUID

from xxhash import xxh3_128_digest

from headwater.model.events import DatasetPart, Event
from headwater.model.facets import (
    Facets,
    InputField,
    LeaseFacet,
    LifecycleFacet,
    ParentFacet,
    SymlinksFacet,
    read_strictly,
    text_of,
)
from headwater.model.lifecycle import EventType, RunState, gravity, state_of, state_of_children
from headwater.model.times import parse_moment
from headwater.server.store.aliases import ALIAS, DECLARES, NAMED, AliasRules, link
from headwater.server.store.contents import Resolve, mapping_id, schema_digest, schema_id
from headwater.server.store.edges import Change, update_edges
from headwater.server.store.rows import (
    DatasetRow,
    JobRow,
    RunIoRow,
    RunRow,
    Stamp,
    hear,
    is_latest,
    version_of,
)
from headwater.server.store.spans import MAPPINGS, SCHEMAS
from headwater.server.store.tables import DECLARED, INPUT, OUTPUT
from headwater.server.store.unit import Unit

LAPSE = "headwater_lapse"  # the facet by which the server's own ABORT is known
DECLARATION = "DECLARED"  # the state of the row that stands for a job event


class Applier:
    """Applies events to a unit of work, under some alias rules."""

    def __init__(self, unit: Unit, rules: AliasRules) -> None:
        self.unit, self.rules = unit, rules

    def apply(self, event: Event, seq: int, received: int) -> tuple[int | None, int | None]:
        """Apply one event; give the ids of its run and job."""
        stamp = (event.time, event.tie, seq)
        if event.dataset is not None:
            self._datasets(event, [event.dataset], DECLARED, stamp, None, None)
            return None, None
        assert event.job is not None  # noqa: S101 -- read_event sees to it
        job = self.unit.job(*event.job, event.time)
        self._job(job, event, stamp)
        run = self._run(job, event, stamp, received)
        changes = [
            self._datasets(event, [*event.inputs, *_renamed(event)], INPUT, stamp, job, run),
            self._datasets(event, event.outputs, OUTPUT, stamp, job, run),
        ]
        self._speaks(run, event)
        for change in changes:
            update_edges(self.unit, job, run, change)
        if any(change.named for change in changes):
            run.version = self._version(job, run)
        # What was out of order was written on the way, and these changed since.
        self.unit.changed_jobs.add(job.id)
        self.unit.changed_runs.add(run.id)
        return (run.id if event.run else None), job.id

    # Jobs

    def _job(self, job: JobRow, event: Event, stamp: Stamp) -> None:
        job.hidden = False
        facets = event.job_facets
        if not hear(job.facets, facets, stamp):
            return
        if is_latest(job.facets, "jobType", stamp):
            kind = text_of(facets, "jobType", "processingType") or ""
            job.type = "STREAM" if kind.upper().startswith("STREAM") else "BATCH"
            words = (text_of(facets, "jobType", key) for key in ("jobType", "integration"))
            job.labels = "\n".join(word for word in words if word)
        if is_latest(job.facets, "documentation", stamp):
            job.description = text_of(facets, "documentation", "description")
        if is_latest(job.facets, "sourceCodeLocation", stamp):
            job.location = text_of(facets, "sourceCodeLocation", "url")

    def _version(self, job: JobRow, run: RunRow) -> bytes:
        """A digest of what the run read and wrote: runs with one digest are one job version."""
        names = sorted(
            (io, self.unit.namespace_name(row.namespace), row.name)
            for io, row in (
                (key[0], self.unit.dataset_rows([key[1]])[0]) for key in self.unit.ios(run.id)
            )
        )
        text = "\0".join(f"{io}\0{place}\0{name}" for io, place, name in names)
        whole = f"{self.unit.namespace_name(job.namespace)}\0{job.name}\0{text}"
        return xxh3_128_digest(whole.encode())

    # Runs

    def _run(self, job: JobRow, event: Event, stamp: Stamp, received: int) -> RunRow:
        if event.run is None:
            run = self.unit.run(UUID(bytes=event.digest), job.id, event.time)
            run.state, run.own = DECLARATION, True
            hear(run.job_facets, event.job_facets, stamp)
            return run
        run = self.unit.run(event.run, job.id, event.time)
        if not run.own:
            run.own, run.job = True, job.id
            run.created_at = run.updated_at = event.time
            run.started_at = run.ended_at = None
        run.created_at = min(run.created_at, event.time)
        run.updated_at = max(run.updated_at, event.time)
        hear(run.job_facets, event.job_facets, stamp)
        if hear(run.facets, event.run_facets, stamp):
            self._run_facets(run, event, stamp, job)
        if LAPSE in event.run_facets:
            run.lapsed_at = max(run.lapsed_at or 0, event.time)
        else:
            run.heard_at = max(run.heard_at, received)
            _live(run, event)
        settle_state(run)
        if run.parent is not None:
            self.unit.parents.add(run.parent)
        return run

    def _run_facets(self, run: RunRow, event: Event, stamp: Stamp, job: JobRow) -> None:
        facets = event.run_facets
        if is_latest(run.facets, "headwater_lease", stamp):
            lease: LeaseFacet | None = read_strictly(facets, "headwater_lease", "run")
            run.lease = int(lease.seconds * 1_000_000) if lease and lease.seconds > 0 else None
        if is_latest(run.facets, "nominalTime", stamp):
            run.nominal_start = _time_of(text_of(facets, "nominalTime", "nominalStartTime"))
            run.nominal_end = _time_of(text_of(facets, "nominalTime", "nominalEndTime"))
        if is_latest(run.facets, "parent", stamp):
            self._parent(run, event, job)

    def _parent(self, run: RunRow, event: Event, job: JobRow) -> None:
        facet: ParentFacet | None = read_strictly(event.run_facets, "parent", "run")
        if facet is None or UUID(facet.run.run_id) == event.run:
            return
        parent_job = self.unit.job(facet.job.namespace, facet.job.name, event.time)
        parent = self.unit.run(UUID(facet.run.run_id), parent_job.id, event.time)
        run.parent = parent.id
        self.unit.parents.add(parent.id)
        if parent_job.id != job.id and event.time >= job.parent_at:
            job.parent, job.parent_at = parent_job.id, event.time
        root = facet.root
        if root and root.run and root.job and not parent.own and parent.parent is None:
            self._root(
                parent, parent_job, root.run.run_id, (root.job.namespace, root.job.name), event.time
            )

    def _root(
        self, parent: RunRow, parent_job: JobRow, run_id: str, name: tuple[str, str], time: int
    ) -> None:
        if UUID(run_id).bytes == parent.uuid:
            return
        root_job = self.unit.job(*name, time)
        root = self.unit.run(UUID(run_id), root_job.id, time)
        parent.parent = root.id
        self.unit.parents.add(root.id)
        if parent_job.parent is None and root_job.id != parent_job.id:
            parent_job.parent = root_job.id

    def _speaks(self, run: RunRow, event: Event) -> None:
        """Work out since when the run speaks for its job's inputs, and for its outputs."""
        ios = self.unit.ios(run.id)
        named: list[int | None] = [
            min((row.since for key, row in ios.items() if key[0] == io), default=None)
            for io in (INPUT, OUTPUT)
        ]
        ended = run.ended_at if run.state == RunState.COMPLETED else None
        if run.state == DECLARATION:
            ended = event.time
        for this, that in ((0, 1), (1, 0)):
            other = named[that]
            if named[this] is None and other is not None and ended is not None:
                named[this] = max(ended, other)
                break
        run.in_since, run.out_since = named
        self.unit.changed_runs.add(run.id)

    # Datasets

    def _datasets(
        self,
        event: Event,
        parts: list[DatasetPart],
        io: int,
        stamp: Stamp,
        job: JobRow | None,
        run: RunRow | None,
    ) -> Change:
        before = None if run is None else run.in_since if io == INPUT else run.out_since
        named: dict[int, int] = {}
        renamed = False
        touched: dict[int, tuple[int | None, int | None]] = {}
        for part in parts:
            row = self._dataset(part, io, stamp)
            schema = schema_id(self.unit, part)
            mapping = mapping_id(self.unit, part, self._resolver(event.time)) if io else None
            if mapping is not None:
                self.unit.see(self.unit.mapping_inputs[mapping], event.time)
            known = touched.get(row.id, (None, None))
            touched[row.id] = (known[0] or schema, known[1] or mapping)
            if run is not None:
                is_new, is_earlier = self._io(run, io, row.id, schema or 0, part, stamp)
                if is_new or is_earlier:
                    named[row.id] = event.time
                renamed = renamed or is_earlier
        for dataset, (schema, mapping) in touched.items():
            self._touch(dataset, io, stamp, job, run, schema, mapping)
        return Change(io, named, renamed, before)

    def _dataset(self, part: DatasetPart, io: int, stamp: Stamp) -> DatasetRow:
        facets, namespace = part.facets, self.rules.resolve(part.namespace)
        symlinks: SymlinksFacet | None = read_strictly(facets, "symlinks", part.where)
        names = (
            [i for i in (symlinks.identifiers or ()) if i.namespace and i.name] if symlinks else []
        )
        row = self.unit.dataset(namespace, part.name, stamp[0], DECLARES if names else NAMED)
        if row.hidden:
            row.hidden = False
            self.unit.changed_datasets.add(row.id)
        told = {**facets, **part.own} if io == INPUT and part.own else facets
        if "dataSource" in facets and (source := text_of(facets, "dataSource", "name")):
            self.unit.source(source, text_of(facets, "dataSource", "uri"), stamp[0])
        if hear(row.facets, told, stamp):
            self.unit.changed_datasets.add(row.id)
            self._dataset_facets(row, facets, stamp)
        for name in names:
            place = self.rules.resolve(name.namespace)
            link(self.unit, row, self.unit.dataset(place, name.name, stamp[0], ALIAS))
        return row

    def _dataset_facets(self, row: DatasetRow, facets: Facets, stamp: Stamp) -> None:
        if is_latest(row.facets, "dataSource", stamp):
            row.source = text_of(facets, "dataSource", "name") or None
        if is_latest(row.facets, "documentation", stamp):
            row.description = text_of(facets, "documentation", "description")
        if is_latest(row.facets, "lifecycleStateChange", stamp):
            row.lifecycle = text_of(facets, "lifecycleStateChange", "lifecycleStateChange") or ""

    def _resolver(self, time: int) -> Resolve:
        def resolve(given: InputField) -> int:
            namespace = self.rules.resolve(given.namespace)
            return self.unit.dataset(namespace, given.name, time, NAMED).id

        return resolve

    def _io(
        self, run: RunRow, io: int, dataset: int, schema: int, part: DatasetPart, stamp: Stamp
    ) -> tuple[bool, bool]:
        """Note that the run named a dataset; whether that is new, whether earlier than known."""
        ios, time = self.unit.ios(run.id), stamp[0]
        known = [r.since for k, r in ios.items() if k[0] == io and k[1] == dataset]
        row = ios.get((io, dataset, schema))
        if row is None:
            row = ios[io, dataset, schema] = RunIoRow(run.id, io, dataset, schema, time, time)
            if io == OUTPUT:
                digest = schema_digest(self.unit, schema)
                place = self.rules.resolve(part.namespace)
                row.version = version_of(run.uuid, place, part.name, digest)
        row.since, row.last = min(row.since, time), max(row.last, time)
        hear(row.facets, part.facets, stamp)
        if part.own:
            hear(row.own, part.own, stamp)
        self.unit.changed_ios[run.id, io, dataset, schema] = row
        return not known, bool(known) and time < min(known)

    def _touch(
        self,
        dataset: int,
        io: int,
        stamp: Stamp,
        job: JobRow | None,
        run: RunRow | None,
        schema: int | None,
        mapping: int | None,
    ) -> None:
        at, who = (stamp[0], stamp[1]), job.id if job else 0
        if schema is not None:
            SCHEMAS.observe(self.unit, dataset, 0 if io == INPUT else 1, at, schema)
        if mapping is not None:
            MAPPINGS.observe(self.unit, dataset, who, at, mapping)
        self.unit.put(
            "touch", dataset, *at, io, stamp[2], who, run.id if run else None, schema, mapping
        )


def _renamed(event: Event) -> list[DatasetPart]:
    """What renamed datasets were before: the run that renames reads them, as it were."""
    before = []
    for part in event.outputs:
        if "lifecycleStateChange" in part.facets:
            facet: LifecycleFacet | None = read_strictly(
                part.facets, "lifecycleStateChange", part.where
            )
            name = facet.previous_identifier if facet else None
            if name is not None:
                before.append(DatasetPart(name.namespace, name.name, {}, {}, part.where))
    return before


def _live(run: RunRow, event: Event) -> None:
    if event.kind is EventType.OTHER:
        return
    time = event.time
    run.started_at = time if run.started_at is None else min(run.started_at, time)
    rank = gravity(event.kind)
    if rank is None:
        return
    if run.ended_at is None or run.ending is None or (time, rank) < (run.ended_at, run.ending):
        run.ended_at, run.ending = time, rank


def settle_state(run: RunRow) -> None:
    """Work out the run's state and when its lease runs out."""
    lapsed = run.lapsed_at is not None and run.heard_at <= run.lapsed_at
    run.state = state_of(run.ending, run.started_at is not None, lapsed)
    if run.ending is None:
        run.ended_at = run.lapsed_at if lapsed else None
    is_due = run.state in (RunState.RUNNING, RunState.NEW) and run.lease is not None
    run.deadline = run.heard_at + run.lease if is_due and run.lease else None


def settle_parents(unit: Unit) -> None:
    """Give parents that send no events of their own the state of their children."""
    todo = unit.parents
    while todo:
        unit.flush()
        above: set[int] = set()
        for number in sorted(todo):
            parent = unit.run_row(number)
            if not parent.own:
                _follow_children(unit, parent)
                if parent.parent is not None:
                    above.add(parent.parent)
        todo = above - todo
    unit.parents = set()


def _follow_children(unit: Unit, parent: RunRow) -> None:
    rows = unit.session.all(
        "SELECT state, created_at, started_at, updated_at, ended_at FROM run WHERE parent = ?",
        parent.id,
    )
    if not rows:
        return
    parent.state = state_of_children([RunState(row[0]) for row in rows])
    parent.created_at = min(row[1] for row in rows)
    parent.started_at = min((row[2] for row in rows if row[2] is not None), default=None)
    parent.updated_at = max(row[3] for row in rows)
    ended = parent.state not in (RunState.RUNNING, RunState.NEW)
    parent.ended_at = max((row[4] for row in rows if row[4]), default=None) if ended else None
    unit.changed_runs.add(parent.id)


def _time_of(text: str | None) -> int | None:
    try:
        return parse_moment(text) if text else None
    except (ValueError, OverflowError):
        return None
