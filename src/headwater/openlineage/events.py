"""OpenLineage events as they arrive: read, checked, and otherwise left as they came."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Raw, Struct
from xxhash import xxh3_128_digest

from headwater.errors import EventRejected
from headwater.openlineage.facets import Facets, is_absent, text_of
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.times import Moment, parse_moment

MAX_NAME = 1024  # characters, and twice as many bytes: what PostgreSQL can still index
MAX_FIELD = 1024
_DOTS = frozenset((".", ".."))  # clients, proxies and servers remove them from addresses
_NONE = Raw(b"null")


class _Run(Struct, rename={"run_id": "runId"}):
    run_id: str
    facets: Facets | None = None


class _Job(Struct):
    namespace: str
    name: str
    facets: Facets | None = None


class _Dataset(Struct, rename={"input_facets": "inputFacets", "output_facets": "outputFacets"}):
    namespace: str
    name: str
    facets: Facets | None = None
    input_facets: Facets | None = None
    output_facets: Facets | None = None


class Body(Struct, rename="camel"):
    """The outline of an event, its datasets yet to be read."""

    event_time: str
    event_type: str | None = None
    run: _Run | None = None
    job: _Job | None = None
    dataset: _Dataset | None = None
    inputs: Raw = _NONE
    outputs: Raw = _NONE


class EventDataset(Struct, frozen=True):
    """What an event says of one dataset; `own` are its input or output facets.

    `schema` and `lineage` are digests of the schema, and of `columnLineage` and `lineage`
    together, where they say something: what was seen before need not be read again. `source`
    is where its data source facet puts it.
    """

    namespace: str
    name: str
    facets: Facets
    own: Facets
    where: str
    schema: bytes | None = None
    lineage: bytes | None = None
    source: str | None = None
    source_uri: str | None = None


class Event(Struct, frozen=True):
    """An event that was read and found in order; `raw` is what came.

    `tie` orders events of one instant in a way that does not depend on arrival. `restores` are the
    prefixes of the namespaces in which the event brings back what was deleted, and `runs_of` of
    those whose runs it may name; None for all.
    """

    raw: bytes
    digest: bytes
    time: Moment
    kind: EventType
    run: UUID | None
    job: tuple[str, str] | None
    run_facets: Facets
    job_facets: Facets
    inputs: list[EventDataset]
    outputs: list[EventDataset]
    dataset: EventDataset | None
    restores: tuple[str, ...] | None = None
    runs_of: tuple[str, ...] | None = None

    @property
    def tie(self) -> int:
        """A number from the content, for the order of events of one instant."""
        return int.from_bytes(self.digest[:7])


_body = msgspec.json.Decoder(Body)
_datasets = msgspec.json.Decoder(list[_Dataset] | None)
_EMPTY: Facets = {}
_BRACE = ord("{")


def make_event(raw: bytes, body: Body, parts: Callable[[Raw, str], list[EventDataset]]) -> Event:
    """An event from its outline, and the reader of its datasets.

    Raises: EventRejected, naming the field and the reason; nothing is half accepted.
    """
    digest = xxh3_128_digest(raw)
    time = _moment(body.event_time)
    if body.run is None and body.job is None and body.dataset is None:
        raise EventRejected("run", "an event needs run and job, or job, or dataset")
    if body.dataset is not None and body.job is None and body.run is None:
        part = _part(body.dataset, "dataset")
        return Event(raw, digest, time, EventType.OTHER, None, None, _EMPTY, _EMPTY, [], [], part)
    if body.job is None:
        raise EventRejected("job", "is missing")
    check_name(body.job.namespace, "job.namespace")
    check_name(body.job.name, "job.name")
    return Event(
        raw,
        digest,
        time,
        _kind(body),
        _run_id(body.run),
        (body.job.namespace, body.job.name),
        _facets(body.run.facets if body.run else None, "run.facets"),
        _facets(body.job.facets, "job.facets"),
        parts(body.inputs, "inputs"),
        parts(body.outputs, "outputs"),
        None,
    )


def decode(raw: bytes) -> Body:
    """Read the outline of an event: its datasets are left for `read_parts`.

    Raises: EventRejected, naming the field and the reason.
    """
    try:
        raw.decode()
        if b"\\" in raw and b"\\u0000" in raw:  # the first is 20 times as fast
            _refuse_nul(msgspec.json.decode(raw), "")
        return _body.decode(raw)
    except UnicodeDecodeError as error:
        raise EventRejected("", f"the body is not UTF-8: byte {error.start}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refusal(error, "") from None


def read_parts(raw: Raw, where: str) -> list[EventDataset]:
    """Read the datasets of one side of an event.

    Raises: EventRejected, naming the field and the reason.
    """
    try:
        told = _datasets.decode(raw) or ()
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refusal(error, where) from None
    return [_part(dataset, f"{where}[{i}]") for i, dataset in enumerate(told)]


def _refusal(error: Exception, where: str) -> EventRejected:
    if isinstance(error, RecursionError):
        return EventRejected("", "the body is nested too deeply")
    if not isinstance(error, msgspec.ValidationError):
        return EventRejected("", f"the body is not JSON: {error}")
    what, _, path = str(error).partition(" - at `$")
    path = where + path.rstrip("`")
    if what.startswith("Object missing required field `"):
        name = what.removeprefix("Object missing required field `").rstrip("`")
        return EventRejected(f"{path}.{name}".lstrip("."), "is missing")
    return EventRejected(path.lstrip(".") or "event", what)


def _refuse_nul(value: Any, path: str) -> None:
    if isinstance(value, str):
        if "\0" in value:
            raise EventRejected(path, "holds a NUL character")
    elif isinstance(value, dict):
        for key, inner in value.items():
            where = f"{path}.{key}".lstrip(".").replace("\0", "\\0")
            _refuse_nul(key, where)
            _refuse_nul(inner, where)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _refuse_nul(inner, f"{path}[{index}]")


def _moment(text: str) -> Moment:
    try:
        return parse_moment(text)
    except (ValueError, OverflowError) as error:
        raise EventRejected("eventTime", str(error)) from None


def _kind(body: Body) -> EventType:
    if body.run is None or body.event_type is None:  # which a run event may leave out
        return EventType.OTHER
    try:
        return EventType(body.event_type.upper())
    except ValueError:
        reason = f"{body.event_type[:64]!r} is not one of {', '.join(EventType)}"
        raise EventRejected("eventType", reason) from None


def _run_id(run: _Run | None) -> UUID | None:
    if run is None:
        return None
    try:
        return UUID(run.run_id)
    except ValueError:
        raise EventRejected("run.runId", f"{run.run_id[:64]!r} is not a UUID") from None


def _part(dataset: _Dataset, where: str) -> EventDataset:
    check_name(dataset.namespace, f"{where}.namespace")
    check_name(dataset.name, f"{where}.name")
    own = dataset.output_facets if dataset.output_facets is not None else dataset.input_facets
    return EventDataset(
        dataset.namespace,
        dataset.name,
        _facets(dataset.facets, f"{where}.facets"),
        _facets(own, f"{where}.inputFacets or outputFacets") if own else _EMPTY,
        where,
        _digest(dataset.facets, "schema"),
        _lineage_digest(dataset.facets),
        _source(dataset.facets or _EMPTY),
        text_of(dataset.facets or _EMPTY, "dataSource", "uri"),
    )


def _source(facets: Facets) -> str | None:
    """The name of the data source; none where it is no name that can be asked for."""
    name = text_of(facets, "dataSource", "name")
    return name if name and len(name.encode()) <= 2 * MAX_NAME and name not in _DOTS else None


def _lineage_digest(facets: Facets | None) -> bytes | None:
    columns, explicit = _digest(facets, "columnLineage"), _digest(facets, "lineage")
    return columns if explicit is None else xxh3_128_digest((columns or b"") + b"+" + explicit)


def _digest(facets: Facets | None, name: str) -> bytes | None:
    raw = facets.get(name) if facets else None
    return None if raw is None or is_absent(raw) else xxh3_128_digest(raw)


def _facets(facets: Facets | None, where: str) -> Facets:
    if not facets:
        return _EMPTY
    for name, raw in facets.items():
        if memoryview(raw)[0] != _BRACE and bytes(raw) != b"null":
            raise EventRejected(f"{where}.{name}", "a facet is an object")
    return facets


def is_plain(text: str, limit: int) -> bool:
    """Whether a name can be stored, by the quickest look at it."""
    return 0 < len(text) <= limit and text.isascii() and not text.isspace()


def is_plain_name(text: str) -> bool:
    """Whether a name of a job, a dataset or a namespace can be stored, by the quickest look."""
    return is_plain(text, MAX_NAME) and text not in _DOTS


def check_name(text: str, where: str) -> None:
    """Refuse a name of a job, a dataset or a namespace that cannot be stored or asked for.

    Raises: EventRejected, naming the place.
    """
    check_text(text, where, MAX_NAME)
    if text in _DOTS:
        raise EventRejected(where, f"is {text!r}, which cannot be part of an address")


def check_text(text: str, where: str, limit: int) -> None:
    """Refuse a name that is empty, too long, or cannot be stored.

    Raises: EventRejected, naming the place.
    """
    if is_plain(text, limit):
        return
    if not text or text.isspace():
        raise EventRejected(where, "is empty")
    if len(text) > limit:
        raise EventRejected(where, f"has {len(text):,} characters; {limit:,} is the most")
    _check_bytes(text, where, limit)


def _check_bytes(text: str, where: str, limit: int) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise EventRejected(where, "holds half of a surrogate pair") from None
    if size > 2 * limit:
        raise EventRejected(where, f"has {size:,} bytes; {2 * limit:,} is the most")
