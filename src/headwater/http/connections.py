"""Connections with limits: uvicorn's HTTP protocol waits for a client for ever.

A client has a time to send the head of a request, a slowest pace to send its body at, and a time to
take some of its answer. The head of a request has a largest size. When too many connections are
open, one that is not being answered makes room; when all are, a new one is told 503.

What follows a body in chunks as headers (trailers) is not kept: it came after the decisions.
"""

import asyncio
import contextlib
import resource
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_RESERVE = 96  # descriptors for the store, the page and connections that are told 503
_SPARE = 32  # connections beyond the limit that are told 503; more are closed at once
_PIPELINED = 8  # requests of a connection that wait for the one before them
_PACE = 4096  # bytes a second that a body must arrive at, beyond the first seconds
_SWEEPS = 4  # looks at all connections within the time limit
_LIVENESS = b"/health"  # answered even to a connection beyond the limit


class ConnectionLimits(Struct, frozen=True):
    """How many connections, how long each may wait, and how large a request's head may be."""

    most: int = 1000
    seconds: float = 30.0
    head: int = 65_536


class LimitedProtocol(HttpToolsProtocol):
    """One connection, within limits."""

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()
    _is_swept: ClassVar[bool] = False

    @staticmethod
    def counted() -> object:
        """Count a connection that is closed for its limits."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, letting another go if there are too many."""
        self._since = self.loop.time()  # when the client began what it is at
        self._head = self._received = self._unsent = 0  # bytes
        self._beside = 0  # bytes since there was some of the body: trailers and the like
        self._in_head, self._refused, self._excess = True, False, False
        super().connection_made(transport)
        if len(self.connections) > self.limits.most:
            self._make_room()
        if not self._is_swept:
            type(self)._sweep(self.loop, self.connections)

    def _make_room(self) -> None:
        waiting = [c for c in _limited(self.connections) if c is not self and c.is_waiting()]
        if waiting:
            min(waiting, key=lambda c: c._since).give_up(503, "there are too many connections")
        elif len(self.connections) > self.limits.most + _SPARE:
            self.transport.abort()
        else:
            self._excess = True

    def is_waiting(self) -> bool:
        """Whether the client still owes all or a part of a request."""
        return not self.pipeline and (
            self.cycle is None or self.cycle.response_complete or self.cycle.more_body
        )

    def data_received(self, data: bytes) -> None:
        """Read on, unless this request was refused already."""
        if self._refused:
            return
        if not self._in_head:
            self._received += len(data)
            self._beside += len(data)
            super().data_received(data)
            if not self._in_head and self._beside > self.limits.head:
                self.give_up(431, f"there are over {self.limits.head:,} bytes after the body")
            return
        self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > self.limits.head:
            self._refuse_head()

    def _refuse_head(self) -> None:
        self.give_up(431, f"the head of the request is over {self.limits.head:,} bytes")

    def on_message_begin(self) -> None:
        """A request begins, even if only its first byte is there."""
        super().on_message_begin()
        self._head = self._head or 1

    def on_headers_complete(self) -> None:
        """The head is there: the body is counted from now on."""
        size, self._head, self._in_head = self._head, 0, False
        self._since, self._received, self._beside = self.loop.time(), 0, 0
        if self._refused:
            return
        if size > self.limits.head and self._head_size() > self.limits.head:
            self._refuse_head()
        elif self._excess and not self.url.startswith(_LIVENESS):
            self.give_up(503, "there are too many connections; try again later")
        elif len(self.pipeline) >= _PIPELINED:
            self.give_up(503, "too many requests were sent before their answers were read")
        else:
            super().on_headers_complete()

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of the head."""
        if self._in_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Some of the body, of a request that was not refused."""
        self._beside = 0
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """All of a request is there, and the next may begin."""
        self._in_head, self._head = True, 0
        if not self._refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """The client has its answer: the time for the next request begins."""
        self._since = self.loop.time()
        super().on_response_complete()
        if self._excess and not self.transport.is_closing():
            self.transport.close()

    def pause_writing(self) -> None:
        """The client takes its answer slowly: note since when."""
        self._since, self._unsent = self.loop.time(), self.transport.get_write_buffer_size()
        super().pause_writing()

    def give_up(self, status: int, reason: str) -> None:
        """Close the connection, telling why where a request has begun and has no answer yet."""
        self.counted()
        cycle = None if self.cycle is None or self.cycle.response_complete else self.cycle
        has_begun = self._head > 0 or not self._in_head
        self._refused = True
        if cycle is not None:
            cycle.disconnected = True
            cycle.message_event.set()
        if cycle is not None and cycle.response_started:
            self.transport.abort()
        elif not self.transport.is_closing():
            if has_begun and (cycle is not None or self.cycle is None or self._in_head):
                self.transport.write(_answer(status, reason))
            self.transport.close()

    @classmethod
    def _sweep(cls, loop: asyncio.AbstractEventLoop, connections: set[Any]) -> None:
        """Look at every connection now and then, for as long as there are any."""
        for connection in _limited(connections):
            connection.check(loop.time())
        cls._is_swept = bool(connections)
        if connections:
            loop.call_later(cls.limits.seconds / _SWEEPS, cls._sweep, loop, connections)

    def check(self, now: float) -> None:
        """Close this connection if its client has kept us waiting for too long."""
        waited, limit = now - self._since, self.limits.seconds
        if self.flow.write_paused:
            if waited > limit:
                self._check_reader(now)
        elif self.transport.is_closing() or not self.is_waiting():
            return
        elif self.cycle is not None and not self.cycle.response_complete:
            if self.flow.read_paused:  # it is the server that is busy
                self._since = now - min(waited, limit / 2)
            elif waited > limit + self._received / _PACE:
                self.give_up(408, "the body of the request did not arrive in time")
        elif waited > limit:
            self.give_up(408, "the request did not arrive in time")

    def _check_reader(self, now: float) -> None:
        left = self.transport.get_write_buffer_size()
        if self._unsent - left < _PACE * self.limits.seconds / 4:
            self.counted()
            self.transport.abort()
        self._since, self._unsent = now, left


def _limited(connections: set[Any]) -> list[LimitedProtocol]:
    return [c for c in connections if isinstance(c, LimitedProtocol)]


def protocol(
    limits: ConnectionLimits, counted: Callable[[], object] = lambda: None
) -> type[LimitedProtocol]:
    """The protocol of a server with its own limits; `counted` is called where they close one."""
    own = {"limits": within_descriptors(limits), "counted": staticmethod(counted)}
    return type("Protocol", (LimitedProtocol,), own)


def within_descriptors(limits: ConnectionLimits) -> ConnectionLimits:
    """Limits that leave descriptors for the rest of the server, raising the process's if needed."""
    wanted = limits.most + _RESERVE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return limits
    return msgspec.structs.replace(limits, most=max(8, min(limits.most, soft - _RESERVE)))


_REASONS = {408: "Request Timeout", 431: "Request Header Fields Too Large"}


def _answer(status: int, message: str) -> bytes:
    body = msgspec.json.encode({"code": status, "message": message})
    reason = _REASONS.get(status, "Service Unavailable")
    return (
        f"HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    ).encode() + body
