"""What a key with namespaces may report: events of its own jobs and datasets, and nothing beyond.

An event is refused when its job, its dataset, its parent or one of its runs is of another
namespace. Datasets of others may be named as inputs and outputs; what the event says about them
is left out, and so are symlinks and sources outside of the key's namespaces.

Names are compared as they are stored, so secrets are masked before anything is decided. Only the
parts that decide are decoded. All others are passed through as they were written, so that a number
that Python cannot hold is stored as it is for any other key.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from litestar import Request
from msgspec import Raw

from headwater.errors import EventRejected
from headwater.http.keys import Key
from headwater.openlineage.events import Event, decode
from headwater.openlineage.sizes import check_size
from headwater.server.http.authentication import require_covered
from headwater.server.service import Service
from headwater.server.store.database import Errors

Members = dict[str, Raw]
Resolve = Callable[[str], str]
Scrub = Callable[[bytes], bytes]
_ABOUT = ("facets", "inputFacets", "outputFacets")
_UNREADABLE: Errors = (msgspec.DecodeError, UnicodeError, RecursionError)
_object = msgspec.json.Decoder(Members)
_array = msgspec.json.Decoder(list[Raw])
_text = msgspec.json.Decoder(str)


def restrict(raw: bytes, key: Key, scrub: Scrub, resolve: Resolve, most: int) -> bytes:
    """An event of at most so many bytes without secrets, and without what the key may not say.

    Raises: EventRejected, Forbidden.
    """
    check_size(raw, most)
    decode(raw)  # what is wrong with an event is the same for every key
    try:
        return _restrict(_object.decode(scrub(raw)), key, resolve)
    except _UNREADABLE as error:
        raise EventRejected("", f"the body cannot be read: {error}") from None


def _restrict(event: Members, key: Key, resolve: Resolve) -> bytes:
    for job in _jobs(event):
        require_covered(key, job)
    if (dataset := _members(event.get("dataset"))) is not None:
        namespace = _string(dataset.get("namespace"))
        if namespace is not None:
            require_covered(key, resolve(namespace))
        event["dataset"] = _restricted(event["dataset"], key, resolve)
    for side in ("inputs", "outputs"):
        if (parts := _items(event.get(side))) is not None:
            event[side] = _raw([_restricted(part, key, resolve) for part in parts])
    return msgspec.json.encode(event)


def read_limited(service: Service, raw: bytes, key: Key) -> Event:
    """Read an event that a key with namespaces reports.

    Raises: EventRejected, Forbidden.
    """
    store = service.store
    scrub, resolve, most = store.scrubber.scrub, store.rules.resolve, service.settings.max_event
    event = store.read(restrict(raw, key, scrub, resolve, most), is_clean=True)
    return msgspec.structs.replace(event, restores=key.namespaces, runs_of=key.namespaces)


def read_reported(service: Service, request: Request[Any, Any, Any], raw: bytes) -> Event:
    """Read an event that a route made of a request.

    Raises: EventRejected, Forbidden.
    """
    key: Key | None = request.scope["state"].get("key")
    is_limited = key is not None and key.is_limited
    return read_limited(service, raw, key) if key and is_limited else service.store.read(raw)


def ingest_reported(service: Service, request: Request[Any, Any, Any], raw: bytes) -> None:
    """Store an event that a route made of a request, and wait until it is on disk.

    Raises: EventRejected, Forbidden.
    """
    service.store.ingest([read_reported(service, request, raw)]).result()


def _jobs(event: Members) -> Iterator[str]:
    """The namespaces of the jobs that an event speaks for: its own, its parent and the root."""
    for holder in _speakers(event):
        namespace = _string((_members(holder.get("job")) or {}).get("namespace"))
        if namespace is not None:
            yield namespace


def _speakers(event: Members) -> Iterator[Members]:
    """What may have a job and a run: the event, its parent and the root."""
    yield event
    found = event
    for path in (("run", "facets", "parent"), ("root",)):
        for name in path:
            found = _members(found.get(name)) or {}
        yield found


def _restricted(raw: Raw, key: Key, resolve: Resolve) -> Raw:
    """A dataset of an event without what the key may not say of it."""
    part = _members(raw)
    if part is None:
        return raw
    if not _is_own(key, part, resolve):
        return _raw({name: value for name, value in part.items() if name not in _ABOUT})
    facets = _members(part.get("facets"))
    if facets is not None:
        part["facets"] = _raw(_restrict_facets(facets, key, resolve))
    return _raw(part)


def _restrict_facets(facets: Members, key: Key, resolve: Resolve) -> Members:
    links = _members(facets.get("symlinks"))
    if links is not None:
        names = _items(links.get("identifiers")) or []
        own = [name for name in names if _is_own(key, _members(name) or {}, resolve)]
        facets["symlinks"] = _raw(links | {"identifiers": _raw(own)})
    change = _members(facets.get("lifecycleStateChange"))
    if change is not None and "previousIdentifier" in change:
        if not _is_own(key, _members(change["previousIdentifier"]) or {}, resolve):
            del change["previousIdentifier"]
        facets["lifecycleStateChange"] = _raw(change)
    source = _members(facets.get("dataSource"))
    if source is not None and not key.covers(_string(source.get("name")) or ""):
        del facets["dataSource"]
    return facets


def _is_own(key: Key, name: Members, resolve: Resolve) -> bool:
    namespace = _string(name.get("namespace"))
    return namespace is not None and key.covers(resolve(namespace))


def _members(raw: Raw | None) -> Members | None:
    """What an object has, each as it was written; None for anything else."""
    return None if raw is None or _first(raw) != b"{" else _object.decode(raw)


def _items(raw: Raw | None) -> list[Raw] | None:
    return None if raw is None or _first(raw) != b"[" else _array.decode(raw)


def _string(raw: Raw | None) -> str | None:
    return None if raw is None or _first(raw) != b'"' else _text.decode(raw)


def _first(raw: Raw) -> bytes:
    return bytes(memoryview(raw)[:1])


def _raw(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))
