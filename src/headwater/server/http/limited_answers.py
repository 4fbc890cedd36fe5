"""What a key with namespaces is told: its own things whole, and their neighbours by name.

Routes see to it that what is asked about is of the key's namespaces (`http.access`); this reduces
whatever else an answer holds, in one place for all of them.
"""

from typing import Any

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from headwater.errors import HeadwaterError
from headwater.http.keys import Key
from headwater.server.http.errors import describe
from headwater.server.http.tolerant_json import decode
from headwater.server.ingest.lane import Lane

MOST_BYTES = 16 * 2**20  # of an answer, which takes many times as much when it is decoded
_SMALL = 16_384  # bytes that are decoded on the event loop
_TOO_LARGE = msgspec.json.encode({
    "code": 413,
    "message": f"the answer is over {MOST_BYTES:,} bytes, the most for a key with namespaces; "
    "ask for less, with a lower limit or depth",
})  # fmt: skip

# What names a thing, and what its edges are.
_NAMES = frozenset({
    "id", "nodeId", "type", "namespace", "name", "simpleName", "physicalName", "dataset", "field",
    "version", "runId",
})  # fmt: skip
# What is known of a run whose job cannot be told.
_TIMES = frozenset({
    "id", "state", "createdAt", "updatedAt", "startedAt", "endedAt", "durationMs",
})  # fmt: skip


class _Answer:
    """An answer to a key with namespaces, held until it is whole, as far as it is not too large."""

    def __init__(self, send: Send, lane: Lane, key: Key) -> None:
        self._send, self._lane, self._key = send, lane, key
        self._start: Any = None
        self._parts: list[bytes] = []
        self._size = 0

    async def take(self, message: Any) -> None:
        """Take the next message of the answer, and send what the key may see of it."""
        if message["type"] == "http.response.start":
            self._start = message if _is_json(message) else None
            if self._start is None:
                await self._send(message)
        elif self._start is None:
            await self._send(message)
        elif self._size <= MOST_BYTES:
            await self._add(message.get("body", b""), is_last=not message.get("more_body"))

    async def _add(self, part: bytes, *, is_last: bool) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > MOST_BYTES:
            self._parts.clear()
            await self._finish(413, _TOO_LARGE)
        elif is_last:
            await self._reduce(b"".join(self._parts))

    async def _reduce(self, body: bytes) -> None:
        try:
            if len(body) > _SMALL:  # here it would hold up all other requests
                body = await self._lane.run(len(body), _reduced_body, body, self._key)
            elif body:
                body = _reduced_body(body, self._key)
        except HeadwaterError as error:
            await self._finish(*describe(error))
        else:
            await self._finish(self._start["status"], body)

    async def _finish(self, status: int, body: bytes) -> None:
        headers = [pair for pair in self._start["headers"] if pair[0].lower() != b"content-length"]
        headers.append((b"content-length", b"%d" % len(body)))
        begun: Any = {**self._start, "status": status, "headers": headers}
        await self._send(begun)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


def limited_answers(app: ASGIApp, lane: Lane) -> ASGIApp:
    """An application whose answers to keys with namespaces hold only what these may see."""

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
            answer = answer or _Answer(send, lane, key)
            await answer.take(message)

        scope.setdefault("state", {})
        await app(scope, receive, reducing)

    return wrapped


def _is_json(message: Any) -> bool:
    kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
    return any(b"json" in kind for kind in kinds) and message["status"] < 400


def _reduced_body(body: bytes, key: Key) -> bytes:
    try:
        return msgspec.json.encode(reduced(msgspec.json.decode(body), key))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return msgspec.json.encode(reduced(decode(body), key))


def reduced(answer: Any, key: Key) -> Any:
    """An answer without what the key may not see: a list holds only what is the key's."""
    if not isinstance(answer, dict):
        return _reduce(answer, key)
    if "jobVersion" in answer and answer["jobVersion"] is None:  # the run that was asked for
        return {name: _reduce(part, key) for name, part in answer.items()}
    if _namespace(answer) is not None:
        return _reduce(answer, key)
    if isinstance(answer.get("graph"), list):
        return {**_reduce(answer, key), "graph": _graph(answer["graph"], key)}
    if isinstance(answer.get("namespaces"), list):
        return {"namespaces": [n for n in answer["namespaces"] if key.covers(n["name"])]}
    kept = {
        name: [item for item in value if _is_own(item, key)] if isinstance(value, list) else value
        for name, value in answer.items()
    }
    return {name: _reduce(value, key) for name, value in kept.items()}


def _reduce(value: Any, key: Key) -> Any:
    if isinstance(value, list):
        return [_reduce(item, key) for item in value]
    if not isinstance(value, dict):
        return value
    if not _is_own(value, key):
        return {name: part for name, part in value.items() if name in _NAMES}
    if "jobVersion" in value and value["jobVersion"] is None:
        return {name: part for name, part in value.items() if name in _TIMES}
    return {name: _reduce(part, key) for name, part in value.items()}


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


def _graph(nodes: list[Any], key: Key) -> list[Any]:
    """The key's nodes whole, those next to them by name, and the edges between."""
    own = {node["id"] for node in nodes if _is_own(node["data"], key)}
    found = []
    for node in nodes:
        edges = {
            side: [e for e in node[side] if e["origin"] in own or e["destination"] in own]
            for side in ("inEdges", "outEdges")
        }
        if node["id"] in own or edges["inEdges"] or edges["outEdges"]:
            found.append({**node, "data": _reduce(node["data"], key), **edges})
    return found
