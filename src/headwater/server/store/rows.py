"""The rows that events change, as they are held while a batch is applied.

Field order is column order. `FacetSources` remembers which event last reported each facet: facets
are never copied out of events.
"""

from typing import Any

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
    stamps = {*sources.values()}
    if len(stamps) == 1:
        return _pack([(*stamps.pop(), [*sources])])
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


class DatasetRow(Struct):
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

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> "DatasetRow":
        """Read a row."""
        fields: Any = (*row[:11], unpack_sources(row[11]), *row[12:])
        return cls(*fields)

    def row(self) -> tuple[Any, ...]:
        """Write a row."""
        fields = astuple(self)
        return (*fields[:11], pack_sources(self.facets), *fields[12:])

    def first_ranked(self, rank: int) -> int:
        """Since when the name has a rank, or a lower one."""
        return self.declared_at if rank == 0 else self.named_at if rank == 1 else self.created_at


class JobRow(Struct):
    """A job."""

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
    in_run: int | None = None
    in_since: int | None = None
    in_seen: int = 0
    out_run: int | None = None
    out_since: int | None = None
    out_seen: int = 0
    facets: FacetSources = {}

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> "JobRow":
        """Read a row."""
        fields: Any = (*row[:-1], unpack_sources(row[-1]))
        return cls(*fields)

    def row(self) -> tuple[Any, ...]:
        """Write a row."""
        return (*astuple(self)[:-1], pack_sources(self.facets))


class RunRow(Struct):
    """A run; `own` says that it sent events itself, and was not only named as a parent.

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
    in_since: int | None = None
    out_since: int | None = None
    version: bytes | None = None
    lease: int | None = None
    heard_at: int = 0
    lapsed_at: int | None = None
    deadline: int | None = None
    args: str | None = None
    facets: FacetSources = {}
    job_facets: FacetSources = {}
    first_parent: bytes | None = None

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> "RunRow":
        """Read a row."""
        fields: Any = (*row[:-3], unpack_sources(row[-3]), unpack_sources(row[-2]), row[-1])
        return cls(*fields)

    def row(self) -> tuple[Any, ...]:
        """Write a row."""
        facets = pack_sources(self.facets), pack_sources(self.job_facets)
        return (*astuple(self)[:-3], *facets, self.first_parent)

    @property
    def group(self) -> bytes:
        """The runs that this one adds up with, as `group_of` tells it."""
        return group_of(self.uuid, self.first_parent)


def group_of(run: bytes, first_parent: bytes | None) -> bytes:
    """The key that runs have in common whose reads and writes add up; one alone has its own."""
    return run if first_parent is None else b"+" + first_parent


class RunIoRow(Struct):
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

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> "RunIoRow":
        """Read a row."""
        fields: Any = (*row[:6], unpack_sources(row[6]), unpack_sources(row[7]), *row[8:])
        return cls(*fields)

    def row(self) -> tuple[Any, ...]:
        """Write a row."""
        fields = astuple(self)
        return (*fields[:6], pack_sources(self.facets), pack_sources(self.own), *fields[8:])


def version_of(run: bytes, namespace: str, name: str, schema: bytes) -> bytes:
    """The id of the version of a dataset that a run wrote (or first read) with a schema."""
    return xxh3_128_digest(b"\0".join((run, namespace.encode(), name.encode(), schema)))
