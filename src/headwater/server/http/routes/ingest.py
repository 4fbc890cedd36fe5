"""Takes events in. 201 is sent when they are on disk."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from litestar import Controller, MediaType, Request, Response, post
from litestar.exceptions import HTTPException
from litestar.openapi.spec import OpenAPIMediaType, Operation, Reference, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIType
from litestar.types import Receive

from headwater.api.events import EventResult, EventResults
from headwater.errors import BodyRejected, EventRejected
from headwater.http.keys import Key
from headwater.openlineage.events import Event
from headwater.server.http.access import WRITES_SOME
from headwater.server.http.common import answer
from headwater.server.http.errors import Forbidden
from headwater.server.http.limited_events import read_limited
from headwater.server.ingest.batches import Batch, Refusal, refusal_of
from headwater.server.ingest.bodies import inflate, is_array, split_array, split_lines
from headwater.server.metrics import EVENTS, REJECTED
from headwater.server.service import Service

_REASON = 400  # bytes that the reason of a refusal takes beside its text
_JSON = ("application/json", "text/json")
_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines", *_JSON)
_EVENT = OpenAPIMediaType(schema=Reference("#/components/schemas/LineageEvent"))
_BODY = RequestBody(content={"application/json": _EVENT}, required=True)
_LINED = RequestBody(
    content={"application/x-ndjson": OpenAPIMediaType(schema=Schema(type=OpenAPIType.STRING))},
    required=True,
)


class Problem(HTTPException):
    """A body that cannot be read at all."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail=detail, status_code=status)


class _TakesEvent(Operation):
    """Describes a body of JSON."""

    def __post_init__(self) -> None:
        self.request_body = _BODY


class _TakesLines(Operation):
    """Describes a body of lines."""

    def __post_init__(self) -> None:
        self.request_body = _LINED


class Ingest(Controller):
    """Where OpenLineage producers send events."""

    path = "/api/v1"

    @post(
        "/lineage", opt=WRITES_SOME, status_code=201, tags=["Ingest"], operation_class=_TakesEvent,
        request_max_body_size=None,
    )  # fmt: skip
    async def post_lineage(
        self, request: Request[Any, Any, Any], service: Service
    ) -> Response[EventResults]:
        """Store one OpenLineage event, or an array of them with a result for each."""
        key = _key(request)
        with service.lane.hold() as claim:
            body = await _body(request, service, _JSON, claim)
            if is_array(body):
                raws = await service.lane.run(len(body), split_array, body)
                return await _store_each(service, raws, key, claim)
            event = await service.lane.run(len(body), _read, service, body, key)
            claim(len(body))  # decoded, while it waits for its commit
            await service.store.ingest_soon([event])
        EVENTS.inc()
        nothing: Any = b""
        return Response(nothing, status_code=201, media_type=MediaType.JSON)

    @post(
        "/lineage/batch", opt=WRITES_SOME, status_code=201, tags=["Ingest"],
        operation_class=_TakesLines, request_max_body_size=None,
    )  # fmt: skip
    async def post_batch(
        self, request: Request[Any, Any, Any], service: Service
    ) -> Response[EventResults]:
        """Store newline-delimited events, with a result for each."""
        with service.lane.hold() as claim:
            body = await _body(request, service, _LINES, claim)
            raws = await service.lane.run(len(body), split_lines, body)
            return await _store_each(service, raws, _key(request), claim)


def _read(service: Service, raw: bytes, key: Key | None) -> Event:
    try:
        return _read_for(service, raw, key)
    except EventRejected:
        REJECTED.inc()
        raise


def _read_for(service: Service, raw: bytes, key: Key | None) -> Event:
    if key is None or not key.is_limited:
        return service.store.read(raw)
    return read_limited(service, raw, key)


def _key(request: Request[Any, Any, Any]) -> Key | None:
    key: Key | None = request.scope["state"].get("key")
    return key


async def _store_each(
    service: Service, raws: Iterator[bytes], key: Key | None, claim: Callable[[int], None]
) -> Response[EventResults]:
    """Store what is in order, each event whole or not at all, and tell of each.

    Raises: ServerBusy, when the reasons of all requests together take too much memory.
    """

    def read(raw: bytes) -> Event | Refusal:
        try:
            return _read_for(service, raw, key)
        except Forbidden as problem:
            return Refusal(problem.status_code, problem.detail)

    batch = Batch(raws, read)
    results: list[EventResult] = []
    shared: dict[Refusal | None, EventResult] = {}  # most events are refused for the same reason
    stored = 0
    while part := await service.lane.run(0, batch.read_part):
        events = [each for each in part if isinstance(each, Event)]
        stored_each = await asyncio.to_thread(service.store.ingest_each, events) if events else []
        outcomes = iter(stored_each)
        for each in part:
            refusal = each if isinstance(each, Refusal) else refusal_of(next(outcomes))
            stored += refusal is None
            result = shared.get(refusal)
            if result is None:
                claim(_REASON + (len(refusal.error) if refusal else 0))
                result = shared[refusal] = _result(refusal)
            results.append(result)
    EVENTS.inc(stored)
    REJECTED.inc(len(results) - stored)
    status = 201 if stored == len(results) else 207 if stored else 422
    return await service.lane.run(0, answer, EventResults(len(results), stored, results), status)


def _result(refusal: Refusal | None) -> EventResult:
    return EventResult(201) if refusal is None else EventResult(refusal.status, [refusal.error])


async def _body(
    request: Request[Any, Any, Any],
    service: Service,
    kinds: tuple[str, ...],
    claim: Callable[[int], None],
) -> bytes:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise Problem(415, f"content type {kind[:64]!r} is not one of {', '.join(kinds)}")
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise Problem(415, f"content encoding {coding[:64]!r} is not gzip")
    most = service.settings.max_body
    body = await read_body(request.receive, most, claim)
    if coding in ("identity", ""):
        return body
    body = await service.lane.run(0, inflate, body, most)
    claim(len(body))
    return body


async def read_body(receive: Receive, most: int, claim: Callable[[int], None]) -> bytes:
    """The body of a request, as it was sent.

    Raises: BodyRejected, when it is too large or its client is gone; ServerBusy.
    """
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise BodyRejected(400, "the connection was closed before the body had arrived")
        part, more = message["body"], message["more_body"]
        size += len(part)
        if size > most:
            raise BodyRejected(413, f"the body is over {most:,} bytes")
        claim(len(part))
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
