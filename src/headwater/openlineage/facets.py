"""The OpenLineage facets that mean something to the server, and how each is read.

Facets travel as raw JSON and are kept as they came. Those that shape the graph (schema,
columnLineage, lineage, symlinks, parent) must be well formed; the others are read leniently.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct

from headwater.errors import EventRejected
from headwater.openlineage.sessions import SESSION, SessionFacet

Facets = dict[str, Raw]
# JSON that is well formed may yet hold half of a surrogate pair, or be nested too deeply.
_UNREADABLE = (msgspec.DecodeError, RecursionError)


class SchemaField(Struct, omit_defaults=True):
    """One column of a schema facet, with its nested fields."""

    name: str
    type: str | None = None
    description: str | None = None
    fields: list["SchemaField"] | None = None


class SchemaFacet(Struct):
    """`schema`: the columns of a dataset."""

    fields: list[SchemaField] | None = None


class Transformation(Struct, omit_defaults=True):
    """One entry of `transformations`: what happened between an input field and an output."""

    type: str | None = None
    subtype: str | None = None
    description: str | None = None
    masking: bool | None = None


class InputField(Struct):
    """A field that another one depends on."""

    namespace: str
    name: str
    field: str
    transformations: list[Transformation] | None = None


class FieldLineage(Struct, rename="camel"):
    """The inputs of one output field, in the newer form or the older."""

    input_fields: list[InputField] | None = None
    transformation_description: str | None = None
    transformation_type: str | None = None


class ColumnLineageFacet(Struct):
    """`columnLineage`: field by field, and the inputs that every field depends on."""

    fields: dict[str, FieldLineage] | None = None
    dataset: list[InputField] | None = None


class LineageInput(Struct):
    """A source in a `lineage` facet: a dataset, a field of one, or a job."""

    type: str | None = None
    namespace: str | None = None
    name: str | None = None
    field: str | None = None
    transformations: list[Transformation] | None = None


class _LineageField(Struct):
    inputs: list[LineageInput] | None = None


class LineageFacet(Struct):
    """`lineage` of a dataset: what feeds it and its fields; no inputs at all is a statement, too.

    The job facet of the same name has one such entry for each dataset that the job writes.
    """

    inputs: list[LineageInput] | None = None
    fields: dict[str, _LineageField] | None = None


class Identifier(Struct):
    """A name of a dataset in `symlinks` or `lifecycleStateChange`."""

    namespace: str
    name: str


class SymlinksFacet(Struct):
    """`symlinks`: other names of the same dataset."""

    identifiers: list[Identifier] | None = None


class _RunLink(Struct, rename={"run_id": "runId"}):
    run_id: str


class _JobLink(Struct):
    namespace: str
    name: str


class _Root(Struct):
    run: _RunLink | None = None
    job: _JobLink | None = None


class ParentFacet(Struct):
    """`parent`: the run that started this one, and the root of the whole tree."""

    run: _RunLink
    job: _JobLink
    root: _Root | None = None


class LifecycleFacet(Struct, rename="camel"):
    """`lifecycleStateChange`: a dataset was created, dropped, renamed, …"""

    lifecycle_state_change: str | None = None
    previous_identifier: Identifier | None = None


class LeaseFacet(Struct):
    """`headwater_lease`: the promise to be heard from again within some seconds."""

    seconds: float


_Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class SourceProgress(Struct, rename="camel"):
    """One source of a streaming query: where reading stood before, and stands now."""

    description: str | None = None
    start_offset: Any = None
    end_offset: Any = None
    lag: float | None = None


def positions(offset: Any) -> Iterator[tuple[str, str, int]]:
    """Topic, partition and offset of a position in Kafka; nothing of any other."""
    for topic, partitions in offset.items() if isinstance(offset, dict) else ():
        for partition, place in partitions.items() if isinstance(partitions, dict) else ():
            if isinstance(place, int):
                yield topic, partition, place


class CommitProgress(Struct):
    """One micro-batch that a streaming query has committed."""

    batch: int | None = None
    offsets: dict[str, dict[str, tuple[int | None, int]]] | None = None  # from and to
    snapshot: str | None = None
    sequence: int | None = None
    history: list[tuple[int, int]] | None = None  # sequence numbers, from and to
    table: str | None = None  # the UUID of the table that counts them
    recovered: bool = False  # an earlier run, or an earlier start of the query, made it


class ProgressFacet(Struct, rename="camel"):
    """`headwater_progress`: how far a streaming query is."""

    rows: _Int64 = 0
    input_rows_per_second: float | None = None
    processed_rows_per_second: float | None = None
    watermark: str | None = None
    state_rows: int | None = None
    batch_id: int | None = None
    snapshots: list[str] | None = None
    sequence: int | None = None  # of the snapshot of a batch write
    history: list[tuple[int, int]] | None = None
    table: str | None = None
    sources: list[SourceProgress] | None = None
    commits: list[CommitProgress] | None = None


class OutputStatistics(Struct, rename="camel"):
    """`outputStatistics`: how much a run wrote."""

    row_count: float | None = None
    size: float | None = None
    file_count: float | None = None


# Values of a progress facet: 60 micro-batches that read 1,000 partitions each have as many.
MOST_PROGRESS = 200_000
_LONGEST_SNAPSHOT = 128  # characters of a snapshot's id; Iceberg's are numbers
_progress = msgspec.json.Decoder(ProgressFacet)
_LENIENT: dict[str, msgspec.json.Decoder[Any]] = {
    "outputStatistics": msgspec.json.Decoder(OutputStatistics),
    SESSION: msgspec.json.Decoder(SessionFacet),
}
_STRICT: dict[str, msgspec.json.Decoder[Any]] = {
    "schema": msgspec.json.Decoder(SchemaFacet),
    "columnLineage": msgspec.json.Decoder(ColumnLineageFacet),
    "lineage": msgspec.json.Decoder(LineageFacet),
    "symlinks": msgspec.json.Decoder(SymlinksFacet),
    "parent": msgspec.json.Decoder(ParentFacet),
    "headwater_lease": msgspec.json.Decoder(LeaseFacet),
    "lifecycleStateChange": msgspec.json.Decoder(LifecycleFacet),
}


def read_strictly(facets: Facets, name: str, where: str) -> Any:
    """Read a facet that shapes the graph; None where it is absent or null.

    Raises: EventRejected, when it is malformed, naming the place.
    """
    raw = facets.get(name)
    if raw is None or is_absent(raw):
        return None
    try:
        return _STRICT[name].decode(raw)
    except _UNREADABLE as error:
        what, _, path = str(error).partition(" - at `$")
        raise EventRejected(f"{where}.facets.{name}{path.rstrip('`')}", what) from None


WHOLE = ""  # stands among the fields of a dataset for the dataset itself


def read_lineage(facets: Facets, where: str) -> ColumnLineageFacet:
    """What `columnLineage` and `lineage` tell together; `WHOLE` has the datasets that feed it.

    Raises: EventRejected.
    """
    told: ColumnLineageFacet = read_strictly(facets, "columnLineage", where) or ColumnLineageFacet()
    explicit: LineageFacet | None = read_strictly(facets, "lineage", where)
    if explicit is None:
        return told
    fields, dataset = {**(told.fields or {})}, [*(told.dataset or ())]
    dataset += _input_fields(one for one in explicit.inputs or () if one.field)
    if explicit.inputs is not None:
        fields[WHOLE] = FieldLineage(_input_fields(one for one in explicit.inputs if not one.field))
    for name, field in (explicit.fields or {}).items():
        known = fields.get(name, FieldLineage())
        given = [*(known.input_fields or ()), *_input_fields(field.inputs or ())]
        fields[name] = FieldLineage(
            given, known.transformation_description, known.transformation_type
        )
    return ColumnLineageFacet(fields, dataset)


def _input_fields(inputs: Iterable[LineageInput]) -> list[InputField]:
    return [
        InputField(one.namespace, one.name, one.field or WHOLE, one.transformations)
        for one in inputs
        if one.namespace and one.name and (one.type or "DATASET").upper() == "DATASET"
    ]


def read_leniently(facets: Facets, name: str) -> Any:
    """Read a facet that shapes nothing; None where it is absent or malformed."""
    raw = facets.get(name)
    if raw is None or is_absent(raw):
        return None
    try:
        return _LENIENT[name].decode(raw)
    except _UNREADABLE:
        return None


def count_values(raw: bytes) -> int:
    """How many values JSON has, or more where its texts hold brackets and commas."""
    return sum(raw.count(mark) for mark in (b",", b"[", b"{"))


def read_progress(raw: "Raw | bytes") -> ProgressFacet | None:
    """Read how far a streaming query is; None where that is malformed or no query reports so much.

    A value takes up to forty times the bytes in memory that it takes in JSON.
    """
    text = bytes(raw)
    if len(text) > MOST_PROGRESS and count_values(text) > MOST_PROGRESS:
        return None
    try:
        return _progress.decode(text)
    except _UNREADABLE:
        return None


def snapshot_ids(facet: ProgressFacet) -> list[str]:
    """The Iceberg snapshots that a progress facet tells of, without what no table calls one."""
    return [id_ for id_ in facet.snapshots or () if len(id_) <= _LONGEST_SNAPSHOT]


class _Values(Struct):
    deleted: Any = msgspec.field(default=None, name="_deleted")


_values = msgspec.json.Decoder(_Values)
_anything = msgspec.json.Decoder(dict[str, Any])


def is_absent(raw: "Raw | bytes") -> bool:
    """Whether a facet says nothing, or says that it is deleted."""
    text = bytes(raw)
    if text == b"null":
        return True
    if b'"_deleted"' not in text:
        return False
    try:
        return _values.decode(text).deleted is True
    except _UNREADABLE:
        return False


def is_streaming(facets: Facets) -> bool:
    """Whether the facets of a job tell that it is a streaming one."""
    return (text_of(facets, "jobType", "processingType") or "").upper().startswith("STREAM")


def text_of(facets: Facets, name: str, key: str) -> str | None:
    """A string inside a facet, read leniently: None where there is none."""
    raw = facets.get(name)
    if raw is None:
        return None
    text = bytes(raw)
    return (_texts(text) if len(text) <= _SMALL else _texts.__wrapped__(text)).get(key)


_SMALL = 2048  # bytes of a facet that is kept at hand


@lru_cache(maxsize=4096)
def _texts(raw: bytes) -> dict[str, str]:
    """The strings of a small facet; the same ones come with every event."""
    if is_absent(raw):
        return {}
    try:
        told = _anything.decode(raw)
    except _UNREADABLE:
        return {}
    return {
        key: value for key, value in told.items() if isinstance(value, str) and "\0" not in value
    }


def flat_fields(fields: list[SchemaField], prefix: str = "") -> Iterator[tuple[str, SchemaField]]:
    """Every field with its dotted name, nested ones after the one that holds them."""
    for field in fields:
        name = prefix + field.name
        yield name, field
        if field.fields:
            yield from flat_fields(field.fields, name + ".")
