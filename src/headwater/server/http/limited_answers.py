"""What a key with namespaces is told: its own things whole, and their neighbours by name.

Routes see to it that what is asked about is of the key's namespaces (`http.access`), and views that
nothing beyond its neighbours is found, followed or counted (`lineage.scope`); this writes those
by their names, in one place for all answers. An answer is collected for that, and takes many times
as much when it is decoded: large ones take turns.
"""

import asyncio
from typing import Any

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from headwater.errors import HeadwaterError, ServerBusy
from headwater.http.keys import Key
from headwater.openlineage.tolerant_json import decode
from headwater.server.http.errors import describe
from headwater.server.http.sending import SMALL, HeldAnswers, content_length, is_json
from headwater.server.ingest.lane import Lane
from headwater.server.memory import give_back

MOST_BYTES = 16 * 2**20  # of an answer, which takes many times as much when it is decoded
_BUSY = 503
_PATIENCE = 10.0  # seconds that a large answer waits for its turn
_SMALL = 16_384  # bytes that are decoded on the event loop
_TOO_LARGE = msgspec.json.encode({
    "code": 413,
    "message": f"the answer is over {MOST_BYTES:,} bytes, the most for a key with namespaces; "
    "ask for less, with a lower limit or depth",
})  # fmt: skip

# What names a thing, and what its edges are.
_NAMES = frozenset({
    "id", "nodeId", "type", "namespace", "name", "simpleName", "physicalName", "dataset", "field",
    "version",
})  # fmt: skip
_INPUT = _NAMES | {
    "transformationDescription", "transformationType", "transformations", "job",
}  # fmt: skip
# What a thing of theirs was reported with; a member of that which is called so names nothing.
_AS_REPORTED = frozenset({"facets", "args"})


class _Turns:
    """Lets one large answer at a time be collected and reduced."""

    def __init__(self, held: HeldAnswers) -> None:
        self.held, self._lock = held, asyncio.Lock()

    async def begin(self) -> None:
        """Wait for a turn.

        Raises: ServerBusy, when it takes too long.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._lock.acquire()
        except TimeoutError:
            raise ServerBusy from None

    def end(self) -> None:
        """Give the turn to the next."""
        self._lock.release()


class _Answer:
    """An answer to a key with namespaces, held until it is whole, as far as it is not too large."""

    def __init__(self, send: Send, lane: Lane, turns: _Turns, key: Key) -> None:
        self._send, self._lane, self._turns, self._key = send, lane, turns, key
        self._start: Any = None
        self._parts: list[bytes] = []
        self._size = self._claimed = 0
        self._has_turn = self._is_finished = False

    async def take(self, message: Any) -> None:
        """Take the next message of the answer, and send what the key may see of it."""
        if message["type"] == "http.response.start" and _is_reduced(message):
            self._start = message
            await self._begin(content_length(message))
        elif self._start is None:
            await self._send(message)
        elif not self._is_finished:
            await self._add(message.get("body", b""), is_last=not message.get("more_body"))

    async def _begin(self, length: int | None) -> None:
        """Let a large answer wait for its turn; one without a length is streamed, and large."""
        if length is not None and length <= SMALL:
            return
        if length is not None and length > MOST_BYTES:
            await self._finish(413, _TOO_LARGE)
            return
        try:
            self._claim(length or 0)  # it is held while it waits; a streamed one is not read yet
            await self._turns.begin()
            self._has_turn = True
            self._claim(MOST_BYTES if length is None else 0)
        except ServerBusy as error:
            await self._finish(*describe(error))

    def _claim(self, size: int) -> None:
        self._turns.held.claim(size)
        self._claimed += size

    async def _add(self, part: bytes, *, is_last: bool) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > MOST_BYTES:
            await self._finish(413, _TOO_LARGE)
        elif is_last:
            await self._reduce()

    async def _reduce(self) -> None:
        try:
            if self._size > _SMALL:  # here it would hold up all other requests
                run = self._lane.run
                body = await run(self._size, _reduced_parts, self._parts, self._key)
            else:
                body = _reduced_parts(self._parts, self._key)
        except HeadwaterError as error:
            await self._finish(*describe(error))
        else:
            await self._finish(self._start["status"], body)

    async def _finish(self, status: int, body: bytes) -> None:
        self._is_finished = True
        self._parts.clear()
        self._end_turn()
        if content_length(self._start) is None:
            self._release()
        headers = [pair for pair in self._start["headers"] if pair[0].lower() != b"content-length"]
        headers.append((b"content-length", b"%d" % len(body)))
        if status == _BUSY:
            headers.append((b"retry-after", b"1"))
        begun: Any = {**self._start, "status": status, "headers": headers}
        await self._send(begun)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    def _end_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._turns.end()

    def _release(self) -> None:
        self._turns.held.release(self._claimed)
        self._claimed = 0

    def close(self) -> None:
        """Let go of everything, also when the client has gone before the end."""
        self._parts.clear()
        self._end_turn()
        self._release()


def limited_answers(app: ASGIApp, lane: Lane, held: HeldAnswers) -> ASGIApp:
    """An application whose answers to keys with namespaces hold only what these may see."""
    turns = _Turns(held)

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        answer: _Answer | None = None

        async def reducing(message: Any) -> None:
            nonlocal answer
            key: Key | None = scope["state"].get("key")
            if key is None or not key.is_limited:
                await send(message)
                return
            answer = answer or _Answer(send, lane, turns, key)
            await answer.take(message)

        scope.setdefault("state", {})
        try:
            await app(scope, receive, reducing)
        finally:
            if answer is not None:
                answer.close()

    return wrapped


def _is_reduced(message: Any) -> bool:
    is_error: bool = message["status"] >= 400
    return is_json(message) and not is_error


def _reduced_parts(parts: list[bytes], key: Key) -> bytes:
    body = b"".join(parts)
    parts.clear()
    found = _reduced_body(body, key) if body else body
    if len(body) > SMALL:
        give_back()
    return found


def _reduced_body(body: bytes, key: Key) -> bytes:
    try:
        return msgspec.json.encode(reduced(msgspec.json.decode(body), key))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return msgspec.json.encode(reduced(decode(body), key))


def reduced(answer: Any, key: Key) -> Any:
    """An answer in which what is not of the key's namespaces has a name only."""
    if isinstance(answer, dict) and isinstance(answer.get("events"), list):
        return {**answer, "events": [_event(event, key) for event in answer["events"]]}
    return _reduce(answer, key)


def _reduce(value: Any, key: Key) -> Any:
    if isinstance(value, list):
        return [_reduce(item, key) for item in value]
    if not isinstance(value, dict):
        return value
    if not _is_own(value, key):
        return _only(value, _NAMES)
    return {
        name: part if name in _AS_REPORTED else _reduced_part(name, part, key)
        for name, part in value.items()
    }


def _reduced_part(name: str, part: Any, key: Key) -> Any:
    if name != "inputFields" or not isinstance(part, list):
        return _reduce(part, key)
    # How a column of theirs is made is theirs, whatever it is made of.
    return [_reduce(one, key) if _is_own(one, key) else _only(one, _INPUT) for one in part]


def _event(event: Any, key: Key) -> Any:
    """An event of a run of theirs, as it was reported but for what it says of others' datasets."""
    if not isinstance(event, dict):
        return event
    told = {
        side: [one if _is_own(one, key) else _only(one, _NAMES) for one in event[side]]
        for side in ("inputs", "outputs")
        if isinstance(event.get(side), list)
    }
    return {**event, **told}


def _only(value: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name in names}


def _is_own(value: Any, key: Key) -> bool:
    """Whether a thing is of the key's namespaces; what is of no namespace is."""
    namespace = _namespace(value) if isinstance(value, dict) else None
    return namespace is None or key.covers(namespace)


def _namespace(value: dict[str, Any]) -> str | None:
    for name in (value, value.get("id"), value.get("jobVersion"), value.get("job")):
        if isinstance(name, dict) and isinstance(name.get("namespace"), str):
            found: str = name["namespace"]
            return found
    return None
