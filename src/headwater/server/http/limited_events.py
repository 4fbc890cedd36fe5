"""What a key with namespaces may report: events of its own jobs and datasets, and nothing beyond.

An event is refused when its job, its dataset, its parent or one of its runs is of another
namespace. Datasets of others may be named as inputs and outputs; what the event says about them
is left out, and so are symlinks and sources outside of the key's namespaces.
"""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import msgspec
from litestar import Request

from headwater.http.keys import Key
from headwater.openlineage.events import Event
from headwater.server.http.authentication import require_covered
from headwater.server.http.errors import Forbidden
from headwater.server.service import Service
from headwater.server.store.database import Session, among

_ABOUT = ("facets", "inputFacets", "outputFacets")
_RUN_OWNERS = (
    "SELECT DISTINCT n.name FROM run r JOIN job j ON j.id = r.job "
    "JOIN namespace n ON n.id = j.namespace WHERE r.uuid IN"
)


def restrict(raw: bytes, key: Key, resolve: Callable[[str], str]) -> bytes:
    """An event without what the key may not say; one that cannot be read is left as it is.

    Raises: Forbidden.
    """
    try:
        event = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return raw  # whoever reads it next says what is wrong
    if not isinstance(event, dict):
        return raw
    for job in _jobs(event):
        require_covered(key, job)
    dataset = event.get("dataset")
    if isinstance(dataset, dict):
        _require_dataset(key, dataset, resolve)
        _restrict_dataset(key, dataset, resolve)
    for side in ("inputs", "outputs"):
        for part in _items(event.get(side)):
            _restrict_dataset(key, part, resolve)
    return msgspec.json.encode(event)


def read_limited(service: Service, raw: bytes, key: Key) -> Event:
    """Read an event that a key with namespaces reports.

    Raises: EventRejected, Forbidden.
    """
    event = service.store.read(restrict(raw, key, service.store.rules.resolve))
    with service.store.database.reading() as session:
        require_own_runs(session, key, event.raw)
    return event


def ingest_reported(service: Service, request: Request[Any, Any, Any], raw: bytes) -> None:
    """Store an event that a route made of a request, and wait until it is on disk.

    Raises: EventRejected, Forbidden.
    """
    key: Key | None = request.scope["state"].get("key")
    is_limited = key is not None and key.is_limited
    event = read_limited(service, raw, key) if key and is_limited else service.store.read(raw)
    service.store.ingest([event]).result()


def require_own_runs(session: Session, key: Key, raw: bytes) -> None:
    """See that the runs that an event names are new, or of jobs of the key's namespaces.

    Raises: Forbidden.
    """
    event = msgspec.json.decode(raw)
    runs = [uuid.bytes for text in _runs(event) if (uuid := _uuid(text)) is not None]
    for (namespace,) in among(session, _RUN_OWNERS, runs):
        if not key.covers(namespace):
            raise Forbidden(f"the key {key.name!r} may not report a run of another namespace")


def _jobs(event: dict[str, Any]) -> Iterator[str]:
    """The namespaces of the jobs that an event speaks for: its own, its parent and the root."""
    parent = _parent(event)
    for holder in (event, parent, parent.get("root")):
        job = holder.get("job") if isinstance(holder, dict) else None
        if isinstance(job, dict) and isinstance(job.get("namespace"), str):
            yield job["namespace"]


def _runs(event: dict[str, Any]) -> Iterator[Any]:
    parent = _parent(event)
    for holder in (event, parent, parent.get("root")):
        run = holder.get("run") if isinstance(holder, dict) else None
        if isinstance(run, dict):
            yield run.get("runId")


def _parent(event: dict[str, Any]) -> dict[str, Any]:
    found: Any = event
    for name in ("run", "facets", "parent"):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _uuid(text: Any) -> UUID | None:
    try:
        return UUID(text)
    except (ValueError, TypeError, AttributeError):
        return None


def _require_dataset(key: Key, part: dict[str, Any], resolve: Callable[[str], str]) -> None:
    if isinstance(part.get("namespace"), str):
        require_covered(key, resolve(part["namespace"]))


def _restrict_dataset(key: Key, part: dict[str, Any], resolve: Callable[[str], str]) -> None:
    if not _is_own(key, part, resolve):
        for name in _ABOUT:
            part.pop(name, None)
        return
    facets = part.get("facets")
    if not isinstance(facets, dict):
        return
    links = facets.get("symlinks")
    if isinstance(links, dict):
        own = [name for name in _items(links.get("identifiers")) if _is_own(key, name, resolve)]
        links["identifiers"] = own
    change = facets.get("lifecycleStateChange")
    if isinstance(change, dict) and "previousIdentifier" in change:
        before = change["previousIdentifier"]
        if not isinstance(before, dict) or not _is_own(key, before, resolve):
            del change["previousIdentifier"]
    source = facets.get("dataSource")
    if isinstance(source, dict) and not key.covers(str(source.get("name"))):
        del facets["dataSource"]


def _is_own(key: Key, name: dict[str, Any], resolve: Callable[[str], str]) -> bool:
    namespace = name.get("namespace")
    return isinstance(namespace, str) and key.covers(resolve(namespace))


def _items(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
