"""Builds OpenLineage facets out of what capture knows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from headwater.capture.datasets.naming import PART, Dataset
from headwater.capture.events import PRODUCER, Event, RunName
from headwater.capture.plan.lineage import NO_EDGES, Edge, Effect, combined
from headwater.capture.plan.nested import outermost
from headwater.capture.plan.sources import Field
from headwater.version import __version__

_SPEC = "https://openlineage.io/spec/facets"
_SUBSET = f"{_SPEC}/1-0-0/BaseSubsetDatasetFacet.json#/$defs/"
SCHEMAS = {
    name: f"{_SPEC}/{version}/{name}.json#/$defs/{name}"
    for name, version in {
        "ColumnLineageDatasetFacet": "1-2-0",
        "DatasetVersionDatasetFacet": "1-0-1",
        "ErrorMessageRunFacet": "1-0-1",
        "JobTypeJobFacet": "2-0-4",
        "OutputStatisticsOutputDatasetFacet": "1-0-2",
        "ParentRunFacet": "1-2-0",
        "ProcessingEngineRunFacet": "1-1-1",
        "SchemaDatasetFacet": "1-2-0",
        "SymlinksDatasetFacet": "1-0-1",
    }.items()
}

# Beyond this many entries, what holds for all columns is said once for the dataset.
_MOST_ENTRIES = 5_000


class Written(Struct, frozen=True):
    """What one write left in its dataset, as far as it is known."""

    rows: int | None = None
    size: int | None = None
    files: int | None = None
    snapshot: str | None = None
    sequence: int | None = None
    history: tuple[tuple[int, int], ...] = ()  # of the snapshot, by sequence numbers
    table: str | None = None  # the UUID of the table that counts them
    offsets: Mapping[str, Mapping[str, tuple[int, int]]] = {}  # that were read, of Kafka
    latest: Mapping[str, Mapping[str, int]] = {}  # up to which offsets were read at most


Datasets = Mapping[int, tuple[Dataset, ...]]


class OutputColumn(NamedTuple):
    """A column of an output, or a value inside one, with its inputs."""

    name: str
    edges: frozenset[Edge]
    formula: str
    is_nested: bool = False


Told = Callable[[Edge], str]
_OF_ROWS = frozenset({Effect.FILTER, Effect.JOIN, Effect.GROUP_BY, Effect.SORT})


def facet(schema: str, **fields: Any) -> dict[str, Any]:
    """A facet with what every facet carries."""
    return {"_producer": PRODUCER, "_schemaURL": schema, **fields}


def own_facet(name: str, **fields: Any) -> dict[str, Any]:
    """One of Headwater's own facets; their schemas are in docs/facets."""
    return facet(f"urn:headwater:facet:{name}:1", **fields)


def schema(fields: Iterable[Field]) -> dict[str, Any]:
    """The schema facet of a dataset."""
    return facet(SCHEMAS["SchemaDatasetFacet"], fields=[_field(f.name, f.type) for f in fields])


def symlinks(dataset: Dataset) -> dict[str, Any]:
    """The other names of a dataset."""
    return facet(
        SCHEMAS["SymlinksDatasetFacet"],
        identifiers=[
            {"namespace": s.namespace, "name": s.name, "type": s.type} for s in dataset.symlinks
        ],
    )


def version(text: str) -> dict[str, Any]:
    """The version of a dataset that is read or was made."""
    return facet(SCHEMAS["DatasetVersionDatasetFacet"], datasetVersion=text)


def input_json(dataset: Dataset) -> Event:
    """A dataset as an event's input."""
    told = _dataset_json(dataset)
    if dataset.version is not None and dataset.version != PART:
        told["facets"]["version"] = version(dataset.version.text)
    if dataset.locations:
        condition = {"type": "location", "locations": list(dataset.locations)}
        subset = facet(f"{_SUBSET}InputSubsetInputDatasetFacet", inputCondition=condition)
        told["inputFacets"] = {"subset": subset}
    return told


def output_json(dataset: Dataset, **facets: Any) -> Event:
    """A dataset as an event's output."""
    told = _dataset_json(dataset, **facets)
    if dataset.locations:
        condition = {"type": "location", "locations": list(dataset.locations)}
        subset = facet(f"{_SUBSET}OutputSubsetOutputDatasetFacet", outputCondition=condition)
        told["outputFacets"] = {"subset": subset}
    return told


def _dataset_json(dataset: Dataset, **facets: Any) -> Event:
    found: dict[str, Any] = {}
    if dataset.fields:
        found["schema"] = schema(dataset.fields)
    if dataset.symlinks:
        found["symlinks"] = symlinks(dataset)
    found.update({name: value for name, value in facets.items() if value})
    return {"namespace": dataset.namespace, "name": dataset.name, "facets": found}


def with_written(output: Event, written: Written) -> Event:
    """An event's output with what was written into it: how much, and which version that made."""
    counts = {"rowCount": written.rows, "size": written.size, "fileCount": written.files}
    counts = {name: value for name, value in counts.items() if value is not None}
    told = dict(output)
    if counts:
        statistics = facet(SCHEMAS["OutputStatisticsOutputDatasetFacet"], **counts)
        told["outputFacets"] = {**told.get("outputFacets", {}), "outputStatistics": statistics}
    if written.snapshot is not None:
        told["facets"] = {**output["facets"], "version": version(written.snapshot)}
    return told


def batch_progress(written: Written) -> dict[str, Any]:
    """How far a batch write came, at its end: all it wrote, and the snapshot that holds it."""
    snapshots = [written.snapshot] if written.snapshot else []
    told: dict[str, Any] = {} if written.sequence is None else {"sequence": written.sequence}
    told |= {"history": written.history} if written.history else {}
    told |= {"table": written.table} if written.table else {}
    sources = [_read_of_topics(written)] if written.offsets or written.latest else []
    rows = written.rows or 0
    return own_facet("progress", rows=rows, snapshots=snapshots, sources=sources, **told)


def _read_of_topics(written: Written) -> dict[str, Any]:
    def edge(number: int) -> dict[str, dict[str, int]]:
        return {
            topic: {partition: span[number] for partition, span in parts.items()}
            for topic, parts in written.offsets.items()
        }

    told = {"description": "Kafka", "startOffset": edge(0), "endOffset": edge(1)}
    return told | ({"latestOffset": written.latest} if written.latest else {})


def column_lineage(
    columns: Iterable[OutputColumn],
    rows: frozenset[Edge],
    datasets: Datasets,
    conditions: Mapping[Edge, str],
) -> dict[str, Any] | None:
    """The columnLineage facet: each column with its inputs, those that decide rows included.

    `conditions` are the expressions by which edges decide about rows. A value inside a column is a
    field of its own, with a dotted name; inputs of a column also name the columns that hold them.
    """
    listed = list(columns)

    def fields(more: frozenset[Edge], less: frozenset[Edge]) -> dict[str, Any]:
        return {
            one.name: {
                "inputFields": _inputs(
                    (one.edges | more) - less,
                    datasets,
                    _teller(one.formula, rows, conditions),
                    with_holders=not one.is_nested,
                )
            }
            for one in listed
        }

    own = fields(NO_EDGES, rows)
    common = _inputs(rows, datasets, _teller("", rows, conditions))
    if not common and not any(inputs["inputFields"] for inputs in own.values()):
        return None
    if len(listed) * len(common) > _MOST_ENTRIES:
        return facet(SCHEMAS["ColumnLineageDatasetFacet"], fields=own, dataset=common)
    return facet(SCHEMAS["ColumnLineageDatasetFacet"], fields=fields(rows, NO_EDGES))


def error_message(text: str, stack: str | None = None) -> dict[str, Any]:
    """Why a run failed or was aborted."""
    extra = {"stackTrace": stack} if stack else {}
    return facet(
        SCHEMAS["ErrorMessageRunFacet"],
        message=text,
        programmingLanguage="PYTHON",
        **extra,
    )


def parent(run: RunName) -> dict[str, Any]:
    """The run that this one belongs to."""
    return facet(
        SCHEMAS["ParentRunFacet"],
        run={"runId": run.run_id},
        job={"namespace": run.job.namespace, "name": run.job.name},
    )


def job_type(processing: str, kind: str, *, emission: str | None = None) -> dict[str, Any]:
    """What sort of job this is; `emission` says how its events follow each other."""
    extra = {"emissionPattern": emission} if emission else {}
    return facet(
        SCHEMAS["JobTypeJobFacet"],
        processingType=processing,
        integration="SPARK",
        jobType=kind,
        **extra,
    )


def processing_engine(version: str) -> dict[str, Any]:
    """Spark and its version."""
    return facet(
        SCHEMAS["ProcessingEngineRunFacet"],
        name="spark",
        version=version,
        openlineageAdapterVersion=__version__,
    )


def lease(seconds: float) -> dict[str, Any]:
    """The promise to be heard from again in time."""
    return own_facet("lease", seconds=seconds)


def _teller(formula: str, rows: frozenset[Edge], conditions: Mapping[Edge, str]) -> Told:
    """Tells of each input of a column by which expression it takes part."""

    def tell(edge: Edge) -> str:
        if edge in rows or edge.effect in _OF_ROWS:
            return conditions.get(edge, "")
        return "" if edge.effect is Effect.IDENTITY else formula

    return tell


def _inputs(
    edges: Iterable[Edge], datasets: Datasets, told: Told, *, with_holders: bool = True
) -> list[dict[str, Any]]:
    grouped: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for edge in sorted(outermost(edges, told), key=lambda e: (e.origin, e.effect.name, e.masking)):
        for dataset, field, effect in _behind(edge, datasets, with_holders):
            key = (dataset.namespace, dataset.name, field)
            kind, subtype = effect.value
            entry = {
                "type": kind,
                "subtype": subtype,
                "description": told(edge),
                "masking": edge.masking,
            }
            known = grouped.setdefault(key, [])
            if entry not in known:
                known.append(entry)
    return [
        {"namespace": namespace, "name": name, "field": field, "transformations": entries}
        for (namespace, name, field), entries in grouped.items()
    ]


def _behind(
    edge: Edge, datasets: Datasets, with_holder: bool
) -> Iterator[tuple[Dataset, str, Effect]]:
    """The columns that an edge comes from: those behind a column, if a database ran a query."""
    origin = edge.origin
    held = combined(edge.effect, Effect.TRANSFORMATION) if origin.nested else edge.effect
    for dataset in datasets.get(origin.source, ()):
        if dataset.behind is None:
            if with_holder or not origin.nested:
                yield dataset, origin.field, held
            if origin.nested:
                yield dataset, origin.name, edge.effect
            continue
        for one in dataset.behind:
            if one.field == origin.field:
                yield dataset, one.column, combined(one.effect, held)


def _field(name: str, kind: Any) -> dict[str, Any]:
    if not isinstance(kind, dict):
        return {"name": name, "type": str(kind)} if kind is not None else {"name": name}
    if kind.get("type") == "struct":
        inner = [_field(f["name"], f["type"]) for f in kind["fields"]]
        return {"name": name, "type": "struct", "fields": inner}
    if kind.get("type") == "array":
        return {"name": name, "type": "array", "fields": [_field("_element", kind["elementType"])]}
    if kind.get("type") == "map":
        entries = [_field("key", kind["keyType"]), _field("value", kind["valueType"])]
        return {"name": name, "type": "map", "fields": entries}
    return {"name": name, "type": str(kind.get("type"))}
