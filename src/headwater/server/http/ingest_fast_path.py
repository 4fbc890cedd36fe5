"""The short way for what arrives most: one plain event that is in order.

Routing, parameters and response objects of the framework took as long as reading the event
itself. Whatever is not plain goes the long way, with the body that was read: there every
error is told.
"""

from typing import Any

from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from headwater.errors import HeadwaterError
from headwater.server.http.access import WRITES_SOME
from headwater.server.http.errors import describe
from headwater.server.metrics import EVENTS
from headwater.server.service import Service
from headwater.server.store.database import Errors

# What is larger, or has to be searched for secrets, is read in a thread: here it would hold up
# all other requests. A thread takes a tenth of a millisecond more.
_SMALL = 65_536  # bytes
_SEARCHED = 1024  # bytes
_PATH = "/api/v1/lineage"
_ACCESS = WRITES_SOME["access"]
_STORED: Any = {
    "type": "http.response.start",
    "status": 201,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"0")],
}
_END: Any = {"type": "http.response.body", "body": b"", "more_body": False}


def with_fast_ingest(app: ASGIApp, service: Service) -> ASGIApp:
    """An application that takes plain events itself and leaves the rest to another."""
    told: Errors = (HeadwaterError, HTTPException)

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or not _is_plain(scope):
            await app(scope, receive, send)
            return
        is_refused = False
        try:
            key = await service.authenticator.authorize(scope, _ACCESS)
        except HTTPException:
            key = None
            is_refused = True
        if is_refused or (key is not None and key.is_limited):
            await app(scope, receive, send)  # where each event is looked at, or the reason told
            return
        body = await _read(receive)
        if body is None:
            return  # the client has gone
        try:
            event = service.store.read(body, _SEARCHED)
        except told:
            await app(scope, _replay(body, receive), send)
            return
        try:
            await service.store.ingest_soon([event])
        except HeadwaterError as error:
            await _tell(error, send)
            return
        EVENTS.inc()
        await send(_STORED)
        await send(_END)

    return wrapped


def _is_plain(scope: HTTPScope) -> bool:
    """Whether a request posts JSON of a known, small length, as it is, from no page."""
    if scope["path"] != _PATH or scope["method"] != "POST":
        return False
    length = kind = b""
    for name, value in scope["headers"]:
        if name in (b"content-encoding", b"origin"):
            return False
        if name == b"content-length":
            length = value
        elif name == b"content-type":
            kind = value
    return kind.startswith(b"application/json") and length.isdigit() and int(length[:19]) <= _SMALL


async def _read(receive: Receive) -> bytes | None:
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message["body"])
        if not message["more_body"]:
            return parts[0] if len(parts) == 1 else b"".join(parts)


async def _tell(error: HeadwaterError, send: Send) -> None:
    """Answer that an event was not stored; another attempt would fail in the same way."""
    status, body = describe(error)
    length = b"%d" % len(body)
    headers = [(b"content-type", b"application/json"), (b"content-length", length)]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body again."""
    given = False

    async def again() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
