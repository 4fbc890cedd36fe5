"""Sends large answers in slices, and bounds how many bytes of them are held.

An answer is held in memory until its client has taken it, and one to a key with namespaces while
it waits to be reduced: many clients, or slow ones, would fill the memory.
"""

import asyncio
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from headwater.errors import ServerBusy
from headwater.server.http.errors import describe
from headwater.server.memory import close_holes, holes

MOST_BYTES = 128 * 2**20  # of all answers that are held
SMALL = 2**18  # bytes of an answer that is not counted
_VAST = 2**26  # bytes of answers that leave holes in the heap
_SLICE = 2**20  # bytes that are handed to a connection at a time
_REUSED = 1.0  # seconds for which what large answers were made of is kept
_STREAMED = 4 * 2**20  # bytes of a streamed answer that are held at a time


class HeldAnswers:
    """Counts the bytes of all large answers in memory, and refuses more than may be held."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._bytes, self._peak = most, 0, 0

    def claim(self, size: int) -> None:
        """Count so many bytes more.

        Raises: ServerBusy, when all answers together hold too much.
        """
        if size and self._bytes + size > self._most:
            raise ServerBusy
        self._bytes += size
        self._peak = max(self._peak, self._bytes)

    def release(self, size: int) -> None:
        """Count so many bytes less."""
        self._bytes -= size
        if not self._bytes and self._peak > _VAST:
            self._peak = 0
            holes.set()


def with_bounded_answers(app: ASGIApp, held: HeldAnswers) -> ASGIApp:
    """An application that answers 503 instead of holding too many large answers."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        size, is_refused = 0, False

        async def sending(message: Any) -> None:
            nonlocal size, is_refused
            if message["type"] == "http.response.start":
                wanted = _size(message)
                try:
                    held.claim(wanted)
                except ServerBusy as error:
                    is_refused = True
                    await _refuse(send, error)
                    return
                size = wanted
            if is_refused:
                return
            if size and message["type"] == "http.response.body":
                await _send_slices(message, send)
            else:
                await send(message)

        try:
            await app(scope, receive, sending)
        finally:
            held.release(size)
        if holes.is_set() and not closing:  # by now nothing refers to what the answer was made of
            closing.append(task := asyncio.create_task(_close_soon()))
            task.add_done_callback(closing.remove)

    closing: list[asyncio.Task[None]] = []
    return wrapped


async def _close_soon() -> None:
    """Give back what large answers were made of; the next ones may use it for a moment."""
    await asyncio.sleep(_REUSED)
    await asyncio.to_thread(close_holes)


def content_length(message: Any) -> int | None:
    """The length of an answer by its first message; None for one that is streamed."""
    lengths = [value for name, value in message["headers"] if name.lower() == b"content-length"]
    return int(lengths[0]) if lengths else None


def _size(message: Any) -> int:
    """How many bytes an answer holds while it is sent; 0 for a small one and for a live stream."""
    length = content_length(message)
    if length is not None:
        return length if length > SMALL else 0
    return _STREAMED if is_json(message) else 0


def is_json(message: Any) -> bool:
    """Whether an answer is JSON, by its first message."""
    kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
    return any(b"json" in kind for kind in kinds)


async def _send_slices(message: Any, send: Send) -> None:
    """Send a part of an answer; each slice waits until the client has taken those before."""
    body = memoryview(message.get("body", b""))
    last = max(0, len(body) - 1) // _SLICE * _SLICE
    for at in range(0, last, _SLICE):
        piece: Any = {"type": message["type"], "body": body[at : at + _SLICE], "more_body": True}
        await send(piece)
    rest: Any = {**message, "body": body[last:]}
    await send(rest)


async def _refuse(send: Send, error: ServerBusy) -> None:
    status, body = describe(error)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"retry-after", b"1"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
