"""What every handler is given: the store, its readers and the settings."""

import asyncio
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter
from litestar import Request

from headwater.http.keys import Key
from headwater.server.http.authentication import Authenticator
from headwater.server.http.masked_paths import mask_escaped
from headwater.server.ingest.lane import Lane
from headwater.server.lineage.view import StoreViews
from headwater.server.live.feed import Live, Watchers
from headwater.server.settings import Settings
from headwater.server.store.commit import Commit
from headwater.server.store.keys import note
from headwater.server.store.store import Store
from headwater.server.topics.topics import Topics

if TYPE_CHECKING:
    from headwater.server.clusters import Clusters

_CHECKS = 2


class Service:
    """The parts of a running server.

    One dependency rather than several: Litestar resolves several in a task group, which took
    a quarter of the time of a small request. A plain class: of a tuple or a dataclass each part
    would be checked anew in every request.
    """

    def __init__(
        self,
        store: Store,
        views: StoreViews,
        settings: Settings,
        live: Live,
        clusters: "Clusters | None",
        authenticator: Authenticator,
        topics: Topics,
        lane: Lane,
    ) -> None:
        self.store, self.settings, self.open_view = store, settings, views.open_view
        self._views = views
        self.live, self.topics, self.lane = live, topics, lane
        self.authenticator = authenticator
        self.watchers = Watchers(settings.max_streams)
        # Threads that check the store, which must not wait for those that answer questions.
        self.checks = CapacityLimiter(_CHECKS)
        self.clusters = clusters  # None where the server was told of none

    def limited_to(self, key: Key | None) -> "Service":
        """The same server to a handler that answers a key: what it reads is what the key covers."""
        if key is None or not key.is_limited:
            return self
        limited = copy(self)
        limited.open_view = partial(self._views.open_view, namespaces=key.namespaces)
        return limited

    def change(self, how: Callable[..., Any], *names: Any, **texts: Any) -> Any:
        """Make a change of `store.changes`, wait until it is on disk, and give its result.

        Secrets are masked: in what is given by position as in names, in the rest as in texts.
        """
        work = self._masked(how, names, texts)
        return self.store.writer.change(work).result()

    def delete(
        self, request: Request[Any, Any, Any], how: Callable[..., None], *names: Any
    ) -> None:
        """Make a change that takes something away, and its audit row in the same commit."""
        change, audited = self._masked(how, names, {}), self._audited(request)

        def work(commit: Commit) -> None:
            change(commit)
            note(commit.session, *audited)

        self.store.writer.change(work).result()

    async def audit(self, request: Request[Any, Any, Any]) -> None:
        """Write down a request, before it is passed on to another service."""
        audited = self._audited(request)
        work = self.store.writer.change(lambda commit: note(commit.session, *audited))
        await asyncio.wrap_future(work)

    def _masked(
        self, how: Callable[..., Any], names: tuple[Any, ...], texts: dict[str, Any]
    ) -> Callable[..., Any]:
        scrubber = self.store.scrubber
        named = [scrubber.name(name) if isinstance(name, str) else name for name in names]
        told = {key: scrubber.value(text) for key, text in texts.items()}
        return lambda commit: how(commit, *named, **told)

    def _audited(self, request: Request[Any, Any, Any]) -> tuple[str, str, str, str]:
        """Who asked what, as the audit log keeps it."""
        key: Key | None = request.scope["state"].get("key")
        path = mask_escaped(request.scope["path"], self.store.scrubber.text)
        return key.name if key else "anyone", request.method, path, ""
