"""What a key with namespaces is told: its own things whole, and their neighbours by name.

Routes see to it that what is asked about is of the key's namespaces (`http.access`); this reduces
whatever else an answer holds, in one place for all of them.
"""

from typing import Any

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from headwater.http.keys import Key

# What names a thing, and what its edges are.
_NAMES = frozenset({
    "id", "nodeId", "type", "namespace", "name", "simpleName", "physicalName", "dataset", "field",
    "version", "runId",
})  # fmt: skip
# What is known of a run whose job cannot be told.
_TIMES = frozenset({
    "id", "state", "createdAt", "updatedAt", "startedAt", "endedAt", "durationMs",
})  # fmt: skip


def limited_answers(app: ASGIApp) -> ASGIApp:
    """An application whose answers to keys with namespaces hold only what these may see."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        start: Any = None
        parts: list[bytes] = []

        async def reducing(message: Any) -> None:
            nonlocal start
            key: Key | None = scope["state"].get("key")
            if key is None or not key.is_limited:
                await send(message)
            elif message["type"] == "http.response.start":
                start = message if _is_json(message) else None
                if start is None:
                    await send(message)
            elif start is None:
                await send(message)
            else:
                parts.append(message.get("body", b""))
                if not message.get("more_body"):
                    await _send_reduced(send, start, b"".join(parts), key)

        scope.setdefault("state", {})
        await app(scope, receive, reducing)

    return wrapped


def _is_json(message: Any) -> bool:
    kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
    return any(b"json" in kind for kind in kinds) and message["status"] < 400


async def _send_reduced(send: Send, start: Any, body: bytes, key: Key) -> None:
    if body:
        body = msgspec.json.encode(reduced(msgspec.json.decode(body), key))
    headers = [pair for pair in start["headers"] if pair[0].lower() != b"content-length"]
    headers.append((b"content-length", b"%d" % len(body)))
    begun: Any = {**start, "headers": headers}
    await send(begun)
    await send({"type": "http.response.body", "body": body, "more_body": False})


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
