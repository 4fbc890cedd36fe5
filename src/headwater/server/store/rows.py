"""The rows that events change, as they are held while a batch is applied.

Field order is column order. `FacetSources` remembers which event last reported each facet: facets
are never copied out of events.
"""

from functools import cache
from typing import Any, Self

import msgspec
from msgspec import Struct
from msgspec.structs import astuple
from xxhash import xxh3_128_digest

from headwater.openlineage.facets import Facets
from headwater.openlineage.times import FOREVER

# Facet name → (time, tie, seq) of the event that reported it last.
FacetSources = dict[str, tuple[int, int, int]]
Stamp = tuple[int, int, int]
NEVER = -FOREVER

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(list[tuple[int, int, int, list[str]]]).decode


def pack_sources(sources: FacetSources) -> bytes:
    """Write it down, facets of one event together."""
    if not sources:
        return b""
    stamps = [*sources.values()]
    if stamps.count(stamps[0]) == len(stamps):
        return _pack([(*stamps[0], [*sources])])
    groups: dict[Stamp, list[str]] = {}
    for name, stamp in sources.items():
        groups.setdefault(stamp, []).append(name)
    return _pack([(*stamp, names) for stamp, names in groups.items()])


def unpack_sources(packed: bytes | None) -> FacetSources:
    """Read what `pack_sources` wrote."""
    if not packed:
        return {}
    return {
        name: stamp
        for time, tie, seq, names in _unpack(packed)
        for stamp in [(time, tie, seq)]
        for name in names
    }


def record_facets(sources: FacetSources, facets: Facets, stamp: Stamp) -> bool:
    """Note which facets an event says; of two events the later decides. Tell if any is new."""
    if not sources:
        sources.update(dict.fromkeys(facets, stamp))
        return bool(facets)
    changed = False
    for name in facets:
        before = sources.get(name)
        if before is None or before <= stamp:  # an event may name a dataset twice
            sources[name] = stamp
            changed = True
    return changed


def is_latest(sources: FacetSources, name: str, stamp: Stamp) -> bool:
    """Whether an event is the last that reported a facet."""
    return sources.get(name) == stamp


class StoredRow(Struct):
    """A row of a table: its fields are the columns, in order."""

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Self:
        """Read a row."""
        fields = [*row]
        for place in _packed(cls):
            fields[place] = unpack_sources(fields[place])
        return cls(*fields)

    def row(self) -> tuple[Any, ...]:
        """Write a row."""
        fields = [*astuple(self)]
        for place in _packed(type(self)):
            fields[place] = pack_sources(fields[place])
        return tuple(fields)


@cache
def _packed(kind: type[StoredRow]) -> tuple[int, ...]:
    """Where rows of a kind have the sources of facets."""
    types = kind.__annotations__
    return tuple(i for i, n in enumerate(kind.__struct_fields__) if types[n] == FacetSources)


# Columns that had names of their own before the rows had.
_SIDES = {
    "inputs_run": "in_run",
    "inputs_since": "in_since",
    "inputs_seen": "in_seen",
    "outputs_run": "out_run",
    "outputs_since": "out_since",
    "outputs_seen": "out_seen",
    "defines_inputs_since": "in_since",
    "defines_outputs_since": "out_since",
}


class DatasetRow(StoredRow):
    """One name of a dataset."""

    id: int
    namespace: int
    name: str
    root: int
    rank: int
    created_at: int
    updated_at: int
    hidden: bool = False
    source: str | None = None
    description: str | None = None
    lifecycle: str = ""
    facets: FacetSources = {}
    named_at: int = FOREVER
    declared_at: int = FOREVER

    def first_ranked(self, rank: int) -> int:
        """Since when the name has a rank, or a lower one."""
        return self.declared_at if rank == 0 else self.named_at if rank == 1 else self.created_at


class JobRow(StoredRow, rename=_SIDES):
    """A job; its inputs are those of `inputs_run` since a moment, last changed at another."""

    id: int
    namespace: int
    name: str
    created_at: int
    updated_at: int
    hidden: bool = False
    type: str = "BATCH"
    labels: str = ""
    location: str | None = None
    description: str | None = None
    parent: int | None = None
    parent_at: int = NEVER
    inputs_run: int | None = None
    inputs_since: int | None = None
    inputs_seen: int = 0
    outputs_run: int | None = None
    outputs_since: int | None = None
    outputs_seen: int = 0
    facets: FacetSources = {}


class RunRow(StoredRow, rename=_SIDES):
    """A run; `own` says that it sent events itself, and was not only named as a parent.

    From `defines_inputs_since` until another run does, it defines what its job reads.

    `first_parent` is the parent run that its first event names, unless it is a streaming job.
    """

    id: int
    uuid: bytes
    job: int
    job_at: int
    job_tie: int
    state: str
    created_at: int
    updated_at: int
    started_at: int | None = None
    ended_at: int | None = None
    ending: int | None = None
    own: bool = False
    parent: int | None = None
    nominal_start: int | None = None
    nominal_end: int | None = None
    defines_inputs_since: int | None = None
    defines_outputs_since: int | None = None
    version: bytes | None = None
    lease: int | None = None
    heard_at: int = 0
    lapsed_at: int | None = None
    deadline: int | None = None
    args: str | None = None
    facets: FacetSources = {}
    job_facets: FacetSources = {}
    first_parent: bytes | None = None

    def defines_since(self, io: int) -> int | None:
        """Since when the run defines the inputs (0) or the outputs of its job."""
        return self.defines_outputs_since if io else self.defines_inputs_since

    @property
    def group(self) -> bytes:
        """The runs that this one adds up with, as `group_of` tells it."""
        return group_of(self.uuid, self.first_parent)


def group_of(run: bytes, first_parent: bytes | None) -> bytes:
    """The key that runs have in common whose reads and writes add up; one alone has its own."""
    return run if first_parent is None else b"+" + first_parent


class RunIoRow(StoredRow):
    """A dataset that a run read or wrote, with one schema (0: none was told).

    An output with each schema is a version of its dataset. What a dataset event tells is a version
    that no run (0) wrote. `written` is -1 where the run failed and reported no data, 1 where it
    reported some.
    """

    run: int
    io: int
    dataset: int
    schema: int
    since: int
    last: int
    facets: FacetSources = {}
    own: FacetSources = {}
    version: bytes | None = None
    written: int = 0


def version_of(run: bytes, namespace: str, name: str, schema: bytes) -> bytes:
    """The id of the version of a dataset that a run wrote (or first read) with a schema."""
    return xxh3_128_digest(b"\0".join((run, namespace.encode(), name.encode(), schema)))
