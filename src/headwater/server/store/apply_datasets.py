"""What an event says of datasets, applied to their rows and to what a run read and wrote."""

from headwater.openlineage.events import Event, EventDataset
from headwater.openlineage.facets import (
    Identifier,
    InputField,
    LifecycleFacet,
    SymlinksFacet,
    read_strictly,
    text_of,
)
from headwater.openlineage.quality import ASSERTIONS
from headwater.server.store.aliases import ALIAS, DECLARES, NAMED, AliasRules, link
from headwater.server.store.checks import record_checks
from headwater.server.store.contents import Resolve, mapping_id, schema_digest, schema_id
from headwater.server.store.edges import Change
from headwater.server.store.facet_tags import DATASET, record_tags
from headwater.server.store.mapped_fields import note_mapped_fields
from headwater.server.store.mapping_spans import observe_mapping
from headwater.server.store.rows import (
    DatasetRow,
    JobRow,
    RunIoRow,
    RunRow,
    Stamp,
    is_latest,
    record_facets,
    version_of,
)
from headwater.server.store.spans import SCHEMAS
from headwater.server.store.tables import INPUT, MAPPED, OUTPUT
from headwater.server.store.unit import Unit
from headwater.server.store.written import PROGRESS, UNKNOWN, WRITTEN, reports_data

NO_RUN = 0  # the run of versions that dataset events tell
# What makes a dataset event a version of its dataset, beside a schema.
_VERSION_FACETS = {"version", "datasetVersion", "lifecycleStateChange"}
_EARLIER = "UPDATE run_io SET since = ? WHERE run = ? AND io = ? AND dataset = ? AND schema = ?"


_NOTHING = EventDataset("", "", {}, {}, "")


class EventFacts:
    """What an event tells of its datasets: schemas, which it reads, and which feed its outputs."""

    __slots__ = ("inputs", "mapped", "schemas")

    def __init__(self) -> None:
        self.schemas: dict[int, int] = {}
        self.inputs: set[int] = set()
        self.mapped: set[int] = set()


class DatasetApplier:
    """Applies the dataset parts of events to a unit of work, under some alias rules."""

    def __init__(self, unit: Unit, rules: AliasRules) -> None:
        self.unit, self.rules = unit, rules

    def apply(
        self,
        event: Event,
        parts: list[EventDataset],
        io: int,
        stamp: Stamp,
        job: JobRow | None,
        run: RunRow | None,
        facts: EventFacts,
    ) -> Change:
        """Apply the datasets of one side of an event; tell what that changed of its run."""
        before = None if run is None else run.in_since if io == INPUT else run.out_since
        named: dict[int, int] = {}
        renamed = False
        touched: dict[int, tuple[int | None, int | None]] = {}
        for part in parts:
            row = self._dataset(part, io, stamp)
            schema = schema_id(self.unit, part)
            mapping = mapping_id(self.unit, part, self._resolver(event.time)) if io else None
            if schema is not None:
                facts.schemas[row.id] = schema
            if io == INPUT:
                facts.inputs.add(row.id)
            if mapping is not None:
                facts.mapped.update(set(self.unit.mapping_inputs[mapping]) - {row.id})
                self.unit.see(self.unit.mapping_inputs[mapping], event.time)
                resolve = self._resolver(event.time)
                note_mapped_fields(self.unit, part, row.id, facts.schemas, resolve)
            if ASSERTIONS in part.own or ASSERTIONS in part.facets:
                record_checks(self.unit, row.id, job.id if job else 0, part, stamp)
            known = touched.get(row.id, (None, None))
            touched[row.id] = (known[0] or schema, known[1] or mapping)
            if run is not None:
                is_new, is_earlier = self._io(run, io, row.id, schema or 0, part, stamp)
                if is_new or is_earlier:
                    named[row.id] = event.time
                renamed = renamed or is_earlier
            elif schema is not None or _VERSION_FACETS & part.facets.keys():
                self._declare(row.id, schema or 0, part, stamp)
        for dataset, (schema, mapping) in touched.items():
            self._touch(dataset, io, stamp, job, run, schema, mapping)
        return Change(io, named, renamed, before)

    def apply_mapped(self, facts: EventFacts, change: Change, run: RunRow, stamp: Stamp) -> Change:
        """Note that the run read what only the lineage of its outputs names as their source."""
        renamed = change.renamed
        for dataset in facts.mapped - facts.inputs:
            is_new, is_earlier = self._io(run, MAPPED, dataset, 0, _NOTHING, stamp)
            if is_new or is_earlier:
                change.named[dataset] = stamp[0]
            renamed = renamed or is_earlier
        return change._replace(renamed=renamed)

    def _dataset(self, part: EventDataset, io: int, stamp: Stamp) -> DatasetRow:
        facets, namespace = part.facets, self.rules.resolve(part.namespace)
        names = _other_names(part) if "symlinks" in facets else []
        row = self.unit.dataset(namespace, part.name, stamp[0], DECLARES if names else NAMED)
        if row.hidden and self.unit.may_restore(namespace):
            row.hidden = False
            self.unit.changed_datasets.add(row.id)
        told = {**facets, **part.own} if io == INPUT and part.own else facets
        if part.source is not None:
            self.unit.source(part.source, part.source_uri, stamp[0])
        if record_facets(row.facets, told, stamp):
            self.unit.changed_datasets.add(row.id)
            self._dataset_facets(row, part, stamp)
            record_tags(self.unit, DATASET, row.id, facets, row.facets, stamp)
        for name in names:
            place = self.rules.resolve(name.namespace)
            other = self.unit.dataset(place, name.name, stamp[0], ALIAS)
            link(self.unit, row, other, stamp[0])
        return row

    def _dataset_facets(self, row: DatasetRow, part: EventDataset, stamp: Stamp) -> None:
        facets = part.facets
        if "dataSource" in facets and is_latest(row.facets, "dataSource", stamp):
            row.source = part.source
        if "documentation" in facets and is_latest(row.facets, "documentation", stamp):
            row.description = text_of(facets, "documentation", "description")
        if "lifecycleStateChange" in facets and is_latest(
            row.facets, "lifecycleStateChange", stamp
        ):
            row.lifecycle = text_of(facets, "lifecycleStateChange", "lifecycleStateChange") or ""

    def _resolver(self, time: int) -> Resolve:
        def resolve(given: InputField) -> int:
            namespace = self.rules.resolve(given.namespace)
            return self.unit.dataset(namespace, given.name, time, NAMED).id

        return resolve

    def _io(
        self, run: RunRow, io: int, dataset: int, schema: int, part: EventDataset, stamp: Stamp
    ) -> tuple[bool, bool]:
        """Note that the run named a dataset; whether that is new, whether earlier than known."""
        ios, time = self.unit.ios(run.id), stamp[0]
        named = self.unit.named(run.id)
        side = INPUT if io == MAPPED else io
        before = named.get((side, dataset))
        named[side, dataset] = time if before is None else min(time, before)
        row = ios.get((io, dataset, schema))
        if row is None:
            row = ios[io, dataset, schema] = RunIoRow(run.id, io, dataset, schema, time, time)
            row.version = self._version(run.uuid, part, schema) if io == OUTPUT else None
        if io == OUTPUT and row.written != WRITTEN:
            is_written = PROGRESS in run.facets or reports_data(part.facets, part.own)
            row.written = WRITTEN if is_written else UNKNOWN
        self._observe_io(row, part, stamp)
        return before is None, before is not None and time < before

    def _declare(self, dataset: int, schema: int, part: EventDataset, stamp: Stamp) -> None:
        """Note the version that a dataset event tells; one that repeats a schema is the same."""
        row, time = self.unit.declared_version(dataset, schema), stamp[0]
        if row is None:
            row = RunIoRow(NO_RUN, OUTPUT, dataset, schema, time, time)
            row.version = self._version(b"", part, schema)
            self.unit.declared[dataset, schema] = row
        self._observe_io(row, part, stamp)

    def _observe_io(self, row: RunIoRow, part: EventDataset, stamp: Stamp) -> None:
        key, time = (row.run, row.io, row.dataset, row.schema), stamp[0]
        if time < row.since:
            row.since = time
            self.unit.session.run(_EARLIER, time, *key)
        row.last = max(row.last, time)
        record_facets(row.facets, part.facets, stamp)
        if part.own:
            record_facets(row.own, part.own, stamp)
        self.unit.changed_ios[key] = row

    def _version(self, run: bytes, part: EventDataset, schema: int) -> bytes:
        place = self.rules.resolve(part.namespace)
        return version_of(run, place, part.name, schema_digest(self.unit, schema))

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
        touch = (dataset, *at, io, stamp[2], who, run.id if run else None, schema, mapping)
        if mapping is not None:
            observe_mapping(self.unit, (dataset, who), run, at, touch)
        else:
            self.unit.put("touch", *touch)


def _other_names(part: EventDataset) -> list[Identifier]:
    facet: SymlinksFacet | None = read_strictly(part.facets, "symlinks", part.where)
    return [i for i in (facet.identifiers or ()) if i.namespace and i.name] if facet else []


def renamed(event: Event) -> list[EventDataset]:
    """What renamed datasets were before: the run that renames reads them, as it were."""
    before = []
    for part in event.outputs:
        if "lifecycleStateChange" in part.facets:
            facet: LifecycleFacet | None = read_strictly(
                part.facets, "lifecycleStateChange", part.where
            )
            name = facet.previous_identifier if facet else None
            if name is not None:
                before.append(EventDataset(name.namespace, name.name, {}, {}, part.where))
    return before
