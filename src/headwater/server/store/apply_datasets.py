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
from headwater.server.store.aliases import ALIAS, DECLARES, NAMED, link
from headwater.server.store.checks import record_checks
from headwater.server.store.commit import Commit
from headwater.server.store.contents import mapping_id, schema_digest, schema_id
from headwater.server.store.datasets import find_dataset, observe_datasets
from headwater.server.store.edges import Change
from headwater.server.store.facet_tags import DATASET, record_tags
from headwater.server.store.mapped_fields import note_mapped_fields
from headwater.server.store.mapping_spans import observe_mapping
from headwater.server.store.namespaces import record_source
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
from headwater.server.store.runs import FirstNamed, RunIos, declared_version
from headwater.server.store.schema_spans import observe_schema
from headwater.server.store.tables import INPUT, MAPPED, OUTPUT
from headwater.server.store.written import PROGRESS, UNKNOWN, WRITTEN, reports_data

NO_RUN = 0  # the run of versions that dataset events tell
# What makes a dataset event a version of its dataset, beside a schema.
_VERSION_FACETS = {"version", "datasetVersion", "lifecycleStateChange"}
_EARLIER = "UPDATE run_io SET since = ? WHERE run = ? AND io = ? AND dataset = ? AND schema = ?"
_RESTORE = "UPDATE dataset SET hidden = ? WHERE id = ?"
_NOTHING = EventDataset("", "", {}, {}, "")


class EventFacts:
    """An event while it is applied: schemas, the datasets it reads, and those its lineage names.

    `ios` is what its run read and wrote, `named` when the run first named each of these.
    """

    __slots__ = ("inputs", "ios", "job", "mapped", "named", "run", "schemas", "stamp")

    def __init__(
        self,
        stamp: Stamp,
        job: JobRow | None = None,
        run: RunRow | None = None,
        ios: RunIos | None = None,
        named: FirstNamed | None = None,
    ) -> None:
        self.stamp, self.run = stamp, run
        self.job = job.id if job else 0
        self.ios: RunIos = {} if ios is None else ios
        self.named: FirstNamed = {} if named is None else named
        self.schemas: dict[int, int] = {}
        self.inputs: set[int] = set()
        self.mapped: set[int] = set()


def apply_side(commit: Commit, facts: EventFacts, parts: list[EventDataset], io: int) -> Change:
    """Apply the datasets of one side of an event; tell what that changed of its run."""
    run, time = facts.run, facts.stamp[0]
    named: dict[int, int] = {}
    is_earlier = False
    observed: dict[int, tuple[int | None, int | None]] = {}
    for part in parts:
        row = _apply_dataset(commit, part, io, facts.stamp)
        number, schema, mapping = row.id, schema_id(commit, part), None
        if schema is not None:
            facts.schemas[number] = schema
        if io == INPUT:
            facts.inputs.add(number)
        elif part.lineage is not None:
            mapping = _apply_lineage(commit, facts, part, number)
        if ASSERTIONS in part.own or ASSERTIONS in part.facets:
            record_checks(commit, number, facts.job, part, facts.stamp)
        known = observed.get(number)
        observed[number] = (known[0] or schema, known[1] or mapping) if known else (schema, mapping)
        if run is not None:
            before = _record_io(commit, facts, run, io, number, schema or 0, part)
            if before is None or time < before:
                named[number] = time
                is_earlier = is_earlier or before is not None
        elif schema is not None or _VERSION_FACETS & part.facets.keys():
            _declare(commit, number, schema or 0, part, facts.stamp)
    for number, (schema, mapping) in observed.items():
        _observe(commit, facts, number, io, schema, mapping)
    return Change(io, named, is_earlier, run.defines_since(io) if run else None)


def apply_mapped(commit: Commit, facts: EventFacts, change: Change) -> Change:
    """Note that the run read what only the lineage of its outputs names as their source."""
    loose = facts.mapped - facts.inputs
    if not loose or facts.run is None:
        return change
    is_earlier = change.renamed
    for dataset in loose:
        before = _record_io(commit, facts, facts.run, MAPPED, dataset, 0, _NOTHING)
        if before is None or facts.stamp[0] < before:
            change.named[dataset] = facts.stamp[0]
            is_earlier = is_earlier or before is not None
    return change._replace(renamed=is_earlier)


def _apply_dataset(commit: Commit, part: EventDataset, io: int, stamp: Stamp) -> DatasetRow:
    facets, namespace = part.facets, commit.resolve(part.namespace)
    names = _other_names(part) if "symlinks" in facets else []
    row = find_dataset(commit, namespace, part.name, stamp[0], DECLARES if names else NAMED)
    if row.hidden and commit.may_restore(namespace):
        row.hidden = False
        commit.changed_datasets.add(row.id)
        commit.session.run(_RESTORE, False, row.id)
    if part.source is not None:
        record_source(commit, part.source, part.source_uri, stamp[0])
    told = {**facets, **part.own} if io == INPUT and part.own else facets
    if record_facets(row.facets, told, stamp):
        commit.changed_datasets.add(row.id)
        _read_facets(row, part, stamp)
        record_tags(commit, DATASET, row.id, facets, row.facets, stamp)
    for name in names:
        other = find_dataset(commit, commit.resolve(name.namespace), name.name, stamp[0], ALIAS)
        link(commit, row, other, stamp[0])
    return row


def _read_facets(row: DatasetRow, part: EventDataset, stamp: Stamp) -> None:
    facets, sources = part.facets, row.facets
    if "dataSource" in facets and is_latest(sources, "dataSource", stamp):
        row.source = part.source
    if "documentation" in facets and is_latest(sources, "documentation", stamp):
        row.description = text_of(facets, "documentation", "description")
    if "lifecycleStateChange" in facets and is_latest(sources, "lifecycleStateChange", stamp):
        row.lifecycle = text_of(facets, "lifecycleStateChange", "lifecycleStateChange") or ""


def _apply_lineage(commit: Commit, facts: EventFacts, part: EventDataset, dataset: int) -> int:
    """Keep the column mapping of an output, and note the datasets and columns that it names."""
    time = facts.stamp[0]

    def resolve(given: InputField) -> int:
        namespace = commit.resolve(given.namespace)
        return find_dataset(commit, namespace, given.name, time, NAMED).id

    mapping = mapping_id(commit, part, resolve)
    inputs = commit.cache.mapping_inputs[mapping]
    facts.mapped.update(inputs if dataset not in inputs else [i for i in inputs if i != dataset])
    if not facts.inputs.issuperset(inputs):
        observe_datasets(commit, inputs, time)
    note_mapped_fields(commit, part, dataset, facts.schemas, resolve)
    return mapping


def _record_io(
    commit: Commit,
    facts: EventFacts,
    run: RunRow,
    io: int,
    dataset: int,
    schema: int,
    part: EventDataset,
) -> int | None:
    """Note that the run named a dataset; tell since when it is known to have done so before."""
    ios, named, time = facts.ios, facts.named, facts.stamp[0]
    side = INPUT if io == MAPPED else io, dataset
    before = named.get(side)
    if before is None or time < before:
        named[side] = time
    row = ios.get((io, dataset, schema))
    if row is None:
        row = ios[io, dataset, schema] = RunIoRow(run.id, io, dataset, schema, time, time)
        row.version = _version(commit, run.uuid, part, schema) if io == OUTPUT else None
    if io == OUTPUT and row.written != WRITTEN:
        is_written = PROGRESS in run.facets or reports_data(part.facets, part.own)
        row.written = WRITTEN if is_written else UNKNOWN
    _observe_io(commit, row, part, facts.stamp)
    return before


def _declare(commit: Commit, dataset: int, schema: int, part: EventDataset, stamp: Stamp) -> None:
    """Note the version that a dataset event tells; one that repeats a schema is the same."""
    row, time = declared_version(commit, dataset, schema), stamp[0]
    if row is None:
        row = RunIoRow(NO_RUN, OUTPUT, dataset, schema, time, time)
        row.version = _version(commit, b"", part, schema)
        commit.cache.declared[dataset, schema] = row
    _observe_io(commit, row, part, stamp)


def _observe_io(commit: Commit, row: RunIoRow, part: EventDataset, stamp: Stamp) -> None:
    key, time = (row.run, row.io, row.dataset, row.schema), stamp[0]
    if time < row.since:
        row.since = time
        commit.session.run(_EARLIER, time, *key)
    if time > row.last:
        row.last = time
    record_facets(row.facets, part.facets, stamp)
    if part.own:
        record_facets(row.own, part.own, stamp)
    commit.changed_ios[key] = row


def _version(commit: Commit, run: bytes, part: EventDataset, schema: int) -> bytes:
    namespace = commit.resolve(part.namespace)
    return version_of(run, namespace, part.name, schema_digest(commit, schema))


def _observe(
    commit: Commit,
    facts: EventFacts,
    dataset: int,
    io: int,
    schema: int | None,
    mapping: int | None,
) -> None:
    """Store what the event says of a dataset, and bring its spans up to date."""
    time, tie, seq = facts.stamp
    if schema is not None:
        observe_schema(commit, dataset, 0 if io == INPUT else 1, (time, tie), schema)
    run, job = facts.run, facts.job
    row = (dataset, time, tie, io, seq, job, run.id if run else None, schema, mapping)
    if mapping is not None:
        observe_mapping(commit, (dataset, job), run, (time, tie), row)
    else:
        commit.add("dataset_observation", *row)


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
