"""Sends large answers in slices, and bounds how many bytes of them wait for clients.

An answer is held in memory until its client has taken it: slow clients would fill the memory.
"""

from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from headwater.errors import ServerBusy
from headwater.server.http.errors import describe

MOST_BYTES = 128 * 2**20  # of all answers that clients have yet to take
_SLICE = 2**18  # bytes that are handed to a connection at a time
_STREAMED = 4 * 2**20  # bytes of a streamed answer that are held at a time


def with_bounded_answers(app: ASGIApp, most: int = MOST_BYTES) -> ASGIApp:
    """An application that answers 503 instead of holding too many large answers."""
    held = 0  # bytes of answers that are being sent

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal held
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        size, is_refused = 0, False

        async def sending(message: Any) -> None:
            nonlocal held, size, is_refused
            if message["type"] == "http.response.start":
                size = _size(message)
                is_refused = size > 0 and held + size > most
                if is_refused:
                    size = 0
                    await _refuse(send)
                    return
                held += size
            if is_refused:
                return
            if size and message["type"] == "http.response.body":
                await _send_slices(message, send)
            else:
                await send(message)

        try:
            await app(scope, receive, sending)
        finally:
            held -= size

    return wrapped


def _size(message: Any) -> int:
    """How many bytes an answer holds while it is sent; 0 for a small one and for a live stream."""
    headers = {name.lower(): value for name, value in message["headers"]}
    length = headers.get(b"content-length")
    if length is not None:
        return int(length) if int(length) > _SLICE else 0
    return _STREAMED if b"json" in headers.get(b"content-type", b"") else 0


async def _send_slices(message: Any, send: Send) -> None:
    """Send a part of an answer; each slice waits until the client has taken those before."""
    body = message.get("body", b"")
    for at in range(0, len(body) - _SLICE, _SLICE):
        piece: Any = {"type": message["type"], "body": body[at : at + _SLICE], "more_body": True}
        await send(piece)
    rest = body[max(0, -(-len(body) // _SLICE) - 1) * _SLICE :]
    last: Any = {**message, "body": rest}
    await send(last)


async def _refuse(send: Send) -> None:
    status, body = describe(ServerBusy())
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"retry-after", b"1"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
