"""Takes events in. 201 is sent when they are on disk."""

import asyncio
import zlib
from collections.abc import Iterable
from typing import Any

import msgspec
from litestar import Controller, MediaType, Request, Response, post
from litestar.exceptions import HTTPException
from litestar.openapi.spec import OpenAPIMediaType, Operation, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIType

from headwater.errors import EventRejected
from headwater.http.keys import Key
from headwater.openlineage.events import Event
from headwater.server.http.access import WRITES_SOME
from headwater.server.http.errors import Forbidden
from headwater.server.http.limited_events import read_limited
from headwater.server.metrics import EVENTS, REJECTED
from headwater.server.service import Service
from headwater.server.settings import Settings

_array = msgspec.json.Decoder(list[msgspec.Raw])
_TOGETHER = 500  # events of one request that share a commit, so that others get their turn
_JSON = ("application/json", "text/json")
_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines", *_JSON)
_EVENT = OpenAPIMediaType(schema=Schema(type=OpenAPIType.OBJECT))
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
        "/lineage", opt=WRITES_SOME, status_code=201, tags=["Ingest"], operation_class=_TakesEvent
    )
    async def post_lineage(
        self, request: Request[Any, Any, Any], service: Service
    ) -> Response[bytes]:
        """Store one OpenLineage event, or an array of them with a result for each."""
        body = await _body(request, service.settings, _JSON)
        key = _key(request)
        if body.lstrip(b" \t\r\n")[:1] == b"[":
            return await _store_each(service, _elements(body), key)
        event = await _read(service, body, key)
        await service.store.ingest_soon([event])
        EVENTS.inc()
        return Response(b"", status_code=201, media_type=MediaType.JSON)

    @post(
        "/lineage/batch",
        opt=WRITES_SOME,
        status_code=201,
        tags=["Ingest"],
        operation_class=_TakesLines,
    )
    async def post_batch(
        self, request: Request[Any, Any, Any], service: Service
    ) -> Response[bytes]:
        """Store newline-delimited events, with a result for each."""
        body = await _body(request, service.settings, _LINES)
        lines = [line for line in body.splitlines() if line.strip()]
        return await _store_each(service, lines, _key(request))


async def _read(service: Service, raw: bytes, key: Key | None) -> Event:
    try:
        if key is None or not key.is_limited:
            return service.store.read(raw)
        return await asyncio.to_thread(read_limited, service, raw, key)
    except EventRejected:
        REJECTED.inc()
        raise


def _elements(body: bytes) -> list[bytes]:
    try:
        return [bytes(raw) for raw in _array.decode(body)]
    except msgspec.DecodeError as error:
        raise EventRejected("", f"the body is not JSON: {error}") from None
    except RecursionError:
        raise EventRejected("", "the body is nested too deeply") from None


def _key(request: Request[Any, Any, Any]) -> Key | None:
    key: Key | None = request.scope["state"].get("key")
    return key


async def _store_each(service: Service, raws: Iterable[bytes], key: Key | None) -> Response[bytes]:
    """Store what is in order, each event whole or not at all, and tell of each."""
    results: list[dict[str, Any]] = []
    events: list[Event] = []
    places: list[int] = []  # of the events among the results
    for raw in raws:
        try:
            if key is None or not key.is_limited:
                event = service.store.read(raw)
            else:
                event = await asyncio.to_thread(read_limited, service, raw, key)
            events.append(event)
            places.append(len(results))
            results.append({"status": 201})
        except Forbidden as problem:
            results.append({"status": problem.status_code, "errors": [problem.detail]})
        except EventRejected as error:
            results.append(_refusal(error))
    stored = len(events)
    for start in range(0, len(events), _TOGETHER):
        some = events[start : start + _TOGETHER]
        refusals = await asyncio.to_thread(service.store.ingest_each, some)
        for place, refusal in zip(places[start:], refusals, strict=False):
            if refusal is not None:
                results[place] = _refusal(refusal)
                stored -= 1
    EVENTS.inc(stored)
    REJECTED.inc(len(results) - stored)
    status = 201 if stored == len(results) else 207 if stored else 422
    summary = {"received": len(results), "stored": stored, "results": results}
    return Response(msgspec.json.encode(summary), status_code=status, media_type=MediaType.JSON)


def _refusal(error: EventRejected) -> dict[str, Any]:
    return {"status": 422 if error.field else 400, "errors": [error.message]}


async def _body(
    request: Request[Any, Any, Any], settings: Settings, kinds: tuple[str, ...]
) -> bytes:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise Problem(415, f"content type {kind[:64]!r} is not one of {', '.join(kinds)}")
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise Problem(415, f"content encoding {coding[:64]!r} is not gzip")
    body = await request.body()
    if coding in ("identity", ""):
        return body
    return _inflate(body, settings.max_body)


def _inflate(body: bytes, most: int) -> bytes:
    """Decompress no further than the limit: a small body may hold a very large one."""
    inflater = zlib.decompressobj(wbits=47)
    try:
        plain = inflater.decompress(body, most + 1)
    except zlib.error as error:
        raise Problem(400, f"the body is not gzip: {error}") from None
    if len(plain) > most:
        raise Problem(413, f"the body is over {most:,} bytes when decompressed")
    if not inflater.eof:
        raise Problem(400, "the body is not gzip: it ends too early")
    return plain
