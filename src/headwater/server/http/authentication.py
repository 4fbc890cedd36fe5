"""Decides whether a request may use a route: keys, scopes, namespaces and rates.

Every route is behind `Authenticator.guard`, which reads what the route declares
(`http.access`). As long as there is no key, the server serves loopback only, and everyone there;
from the first key on every request needs one.
"""

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from litestar.connection import ASGIConnection

from headwater.http.keys import Key, bearer, hashed
from headwater.server.http.access import OPEN, Access, Within
from headwater.server.http.errors import BadRequest, Forbidden, KeyRequired, TooManyRequests
from headwater.server.lineage.owners import namespaces_of_node, namespaces_of_run
from headwater.server.lineage.view import StoreViews
from headwater.server.metrics import REFUSED
from headwater.server.store.keys import list_keys
from headwater.server.store.store import Store

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Receive, Send

_log = logging.getLogger(__name__)
_REFRESH_AFTER = 1.0  # seconds for which keys are taken to be as they were
_MOST_VALUES = 8  # of a parameter that is looked up for a key with namespaces


class Authenticator:
    """Knows the keys, and how much each has asked for."""

    def __init__(self, store: Store, views: StoreViews, *, is_open: bool, rate: float) -> None:
        self._store, self._views, self._is_open, self._rate = store, views, is_open, rate
        self._keys: dict[bytes, Key] = {}
        self._read_at = 0.0
        self._buckets: dict[int, tuple[float, float]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read the keys again."""
        with self._store.database.reading() as session:
            self._keys = list_keys(session)
        self._read_at = time.monotonic()

    async def refresh_soon(self) -> None:
        """Read the keys again if that was long ago; keep those known if the store is away."""
        if time.monotonic() - self._read_at <= _REFRESH_AFTER:
            return
        self._read_at = time.monotonic()
        try:
            await asyncio.to_thread(self.refresh)
        except self._store.database.errors as error:
            _log.warning("keys cannot be reloaded: %s", error)

    @property
    def is_required(self) -> bool:
        """Whether requests need a key."""
        return not self._is_open or bool(self._keys)

    @property
    def has_keys(self) -> bool:
        """Whether there is a key that is valid."""
        return any(key.revoked_at is None for key in self._keys.values())

    async def find(self, scope: "HTTPScope") -> Key | None:
        """The valid key that a request carries."""
        await self.refresh_soon()
        text = bearer(scope)
        key = None if text is None else self._keys.get(hashed(text))
        return None if key is None or key.revoked_at is not None else key

    def still_allows(self, key: Key | None) -> bool:
        """Whether what a key was allowed a while ago it would be allowed now."""
        return not self.is_required if key is None else key in self._keys.values()

    def guard(self, app: "ASGIApp") -> "ASGIApp":
        """Let a request reach a handler, or raise the reason why not: middleware of all routes.

        Litestar would copy the handler, in every request, for a guard of its own kind.
        """

        async def guarded(scope: Any, receive: "Receive", send: "Send") -> None:
            try:
                await self.authorize(scope, scope["route_handler"].opt.get("access"))
            except (KeyRequired, Forbidden, TooManyRequests):
                REFUSED.inc()
                raise
            await app(scope, receive, send)

        return guarded

    async def authorize(self, scope: "HTTPScope", wanted: Access | None) -> Key | None:
        """See that a request may do what needs an access; its key, if there is one.

        Raises: KeyRequired, Forbidden, TooManyRequests.
        """
        if wanted is None:
            raise Forbidden("this address declares no scope, so nobody may use it")
        if wanted.scope == OPEN:
            return None
        state: dict[str, Any] = scope.setdefault("state", {})
        key = state["key"] = await self.find(scope)
        if key is None:
            if self.is_required:
                raise KeyRequired(is_given=any(n == b"authorization" for n, _ in scope["headers"]))
            return None
        self._count(key, state)
        if not key.may(wanted.scope):
            raise Forbidden(f"the key {key.name!r} lacks the scope {wanted.scope}")
        if key.is_limited:
            await self._require_within(key, wanted.within, scope)
        return key

    async def _require_within(self, key: Key, within: Within, scope: "HTTPScope") -> None:
        """See that a request of a key with namespaces asks about these.

        Raises: Forbidden.
        """
        if within is Within.HANDLER:
            return
        if within is Within.NOWHERE:
            raise Forbidden(f"the key {key.name!r} is for some namespaces, and this is not of one")
        named = await asyncio.to_thread(self._namespaces, key, within, scope)
        if not named:
            raise Forbidden(f"the key {key.name!r} is for some namespaces: ask about one of them")
        for names in named:
            if not any(key.covers(name) for name in names):
                require_covered(key, next(iter(names), ""))

    def _namespaces(self, key: Key, within: Within, scope: "HTTPScope") -> list[set[str]]:
        """The namespaces of each thing that a request asks about."""
        path, asked = scope["path_params"], ASGIConnection[Any, Any, Any, Any](scope).query_params
        if within is Within.PATH:
            name = unquote(path["namespace"] if "namespace" in path else path["name"])
            return [{name}, {self._store.rules.resolve(name)}]
        if within is Within.QUERY:
            return [{name} for name in asked.getall("namespace", [])]
        with self._views.open_view(namespaces=key.namespaces) as view:
            if within is Within.RUN:
                runs = [path["run_id"]] if "run_id" in path else asked.getall("runId", [])
                return [namespaces_of_run(view, run) for run in _few("runId", runs)]
            nodes = _few("nodeId", asked.getall("nodeId", []))
            return [namespaces_of_node(view, node) for node in nodes]

    def _count(self, key: Key, state: dict[str, Any]) -> None:
        """Count a request once: what the fast path does not take is authorized again.

        Raises: TooManyRequests.
        """
        if state.get("is_counted"):
            return
        wait = self._seconds_to_wait(key)
        if wait > 0:
            raise TooManyRequests(key.name, wait)
        state["is_counted"] = True

    def _seconds_to_wait(self, key: Key) -> float:
        """How long a key has asked too much; 0 where it may pass."""
        if self._rate <= 0:
            return 0.0
        clock, most = (
            time.monotonic(),
            max(1.0, 2 * self._rate),
        )  # a bucket holds a request at least
        room, since = self._buckets.get(key.id, (most, clock))
        room = min(most, room + (clock - since) * self._rate)
        if room < 1:
            self._buckets[key.id] = room, clock
            return (1 - room) / self._rate
        self._buckets[key.id] = room - 1, clock
        return 0.0


def _few(name: str, values: list[str]) -> list[str]:
    """The values of a parameter, each of which takes a look into the store.

    Raises: BadRequest.
    """
    if len(values) > _MOST_VALUES:
        raise BadRequest(detail=f"query param {name} is given {len(values):,} times; give it once")
    return values


def require_covered(key: Key | None, namespace: str) -> None:
    """See that a namespace is one of a key's.

    Raises: Forbidden.
    """
    if key is not None and not key.covers(namespace):
        allowed = ", ".join(map(repr, key.namespaces))
        raise Forbidden(f"the key {key.name!r} is for namespaces that begin with {allowed}")
