"""Asks everyone who they are and whether they may: keys, scopes, rates, headers, CORS.

It stands before all else. As long as there is no key, the server serves loopback only, and
everyone there; from the first key on everyone needs one.
"""

import asyncio
import hmac
import logging
import time
from typing import Any
from urllib.parse import unquote

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from headwater.server.metrics import REFUSED
from headwater.server.store.keys import ADMIN, READ, WRITE, Key, hashed, list_keys, note
from headwater.server.store.store import Store

_log = logging.getLogger(__name__)
_AGAIN = 1.0  # seconds for which keys are believed to be as they were
_OPEN = ("/health", "/ready", "/api/v1/session", "/api/docs", "/api/docs-assets")
_SAFETY = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
]
_API_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_STRICT = (b"strict-transport-security", b"max-age=31536000")
_METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE"
_WANTED = b"authorization, content-type, last-event-id"


def needed(method: str, path: str) -> str | None:
    """The scope that a request needs; None where anyone may."""
    if path == "/metrics":
        return READ
    if not path.startswith("/api/") or any(
        path == one or path.startswith(f"{one}/") for one in _OPEN
    ):
        return None
    if path.startswith(("/api/v1/audit", "/api/v1/webhooks")):
        return ADMIN
    if method in ("GET", "HEAD", "OPTIONS"):
        return READ
    if method == "DELETE" or path.startswith("/api/v1/pipelines"):
        return ADMIN
    return WRITE


class Guard:
    """Who may pass; it knows the keys and how much each has asked for."""

    def __init__(self, store: Store, *, is_open: bool, rate: float) -> None:
        self._store, self._is_open, self._rate = store, is_open, rate
        self._keys: dict[bytes, Key] = {}
        self._read_at = 0.0
        self._buckets: dict[int, tuple[float, float]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read the keys again."""
        with self._store.database.reading() as session:
            self._keys = list_keys(session)
        self._read_at = time.monotonic()

    @property
    def is_required(self) -> bool:
        """Whether one needs a key."""
        return not self._is_open or bool(self._keys)

    @property
    def has_keys(self) -> bool:
        """Whether there is a key that is valid."""
        return any(key.revoked_at is None for key in self._keys.values())

    async def find(self, scope: HTTPScope) -> Key | None:
        """The key that a request carries, if it is one of ours and valid."""
        if time.monotonic() - self._read_at > _AGAIN:
            self._read_at = time.monotonic()
            try:
                await asyncio.to_thread(self.refresh)
            except self._store.database.errors as error:
                _log.warning("keys cannot be read again: %s", error)
        given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        kind, _, text = given.partition(" ")
        if kind.lower() != "bearer" or not text.strip():
            return None
        wanted = hashed(text.strip())
        for known, key in self._keys.items():
            if hmac.compare_digest(known, wanted) and key.revoked_at is None:
                return key
        return None

    def seconds_to_wait(self, key: Key) -> float:
        """How long a key has asked too much; 0 where it may pass."""
        if self._rate <= 0:
            return 0.0
        clock = time.monotonic()
        room, since = self._buckets.get(key.id, (2 * self._rate, clock))
        room = min(2 * self._rate, room + (clock - since) * self._rate)
        if room < 1:
            self._buckets[key.id] = room, clock
            return (1 - room) / self._rate
        self._buckets[key.id] = room - 1, clock
        return 0.0

    async def write_down(self, scope: HTTPScope, key: Key | None) -> None:
        """Note an admin's action or a deletion."""
        who, path = key.name if key else "anyone", scope["path"]
        work = self._store.writer.change(
            lambda session, _: note(session, who, scope["method"], path, "")
        )
        await asyncio.wrap_future(work)


def guarded(app: ASGIApp, guard: Guard, *, origins: frozenset[str], is_tls: bool) -> ASGIApp:
    """An application that lets through only who may."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        headers = _headers(scope, origins, is_tls)
        send = _adding(send, headers)
        if scope["method"] == "OPTIONS" and _origin(scope) in origins:
            await _answer(send, 204, b"")
            return
        scope.setdefault("state", {})
        path, method = scope["path"].rstrip("/") or "/", scope["method"]
        wanted = needed(method, path)
        key = await guard.find(scope) if wanted or path.startswith("/api/") else None
        scope["state"]["key"] = key
        refusal = _refusal(guard, scope, key, wanted)
        if refusal is not None:
            REFUSED.inc()
            await _refuse(send, *refusal)
            return
        if wanted == ADMIN and method not in ("GET", "HEAD"):
            send = _noting(send, guard, scope, key)
        await app(scope, receive, send)

    return wrapped


_Refusal = tuple[int, str, list[tuple[bytes, bytes]]]


def _refusal(
    guard: Guard, scope: HTTPScope, key: Key | None, wanted: str | None
) -> _Refusal | None:
    has_given = any(name == b"authorization" for name, _ in scope["headers"])
    if key is None and guard.is_required and (wanted or (has_given and _is_session(scope))):
        reason = "the key is not valid" if has_given else "this server wants a key"
        return 401, f"{reason}: send Authorization: Bearer KEY", [(b"www-authenticate", b"Bearer")]
    if key is None or wanted is None:
        return None
    if not key.may(wanted):
        return 403, f"the key {key.name!r} lacks the scope {wanted}", []
    if wanted != READ and key.namespace and not _covers(key, scope["path"]):
        return 403, f"the key {key.name!r} is for namespaces that begin {key.namespace!r}", []
    wait = guard.seconds_to_wait(key)
    if wait > 0:
        return 429, f"the key {key.name!r} asks too much", [(b"retry-after", b"%d" % (wait + 1))]
    return None


def _covers(key: Key, path: str) -> bool:
    """Whether a key for some namespaces may write to a path; of events each is looked at."""
    parts = path.strip("/").split("/")
    if parts[:3] == ["api", "v1", "lineage"]:
        return True
    return parts[:3] == ["api", "v1", "namespaces"] and key.covers(unquote("".join(parts[3:4])))


def _is_session(scope: HTTPScope) -> bool:
    return scope["path"].rstrip("/") == "/api/v1/session"


def _origin(scope: HTTPScope) -> str:
    return dict(scope["headers"]).get(b"origin", b"").decode("latin-1")


def _headers(scope: HTTPScope, origins: frozenset[str], is_tls: bool) -> list[tuple[bytes, bytes]]:
    headers = [*_SAFETY, *([_STRICT] if is_tls else [])]
    if scope["path"].startswith("/api/v1"):
        headers.append(_API_POLICY)
    if not origins:
        return headers
    headers.append((b"vary", b"origin"))
    if (origin := _origin(scope)) in origins:
        headers += [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", _WANTED),
            (b"access-control-max-age", b"600"),
        ]
    return headers


def _adding(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            told = [*message["headers"]]
            known = {name.lower() for name, _ in told}
            more = [pair for pair in headers if pair[0] not in known]
            message = {**message, "headers": [*told, *more]}
        await send(message)

    return sending


def _noting(send: Send, guard: Guard, scope: HTTPScope, key: Key | None) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 400:
            await guard.write_down(scope, key)
        await send(message)

    return sending


async def _refuse(send: Send, status: int, reason: str, headers: list[tuple[bytes, bytes]]) -> None:
    body = msgspec.json.encode({"code": status, "message": reason})
    await _answer(send, status, body, headers)


async def _answer(
    send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    told: Any = [
        (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)),
        *(headers or ()),
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body, "more_body": False})
