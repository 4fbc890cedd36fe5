"""Calls webhooks: each at least once for what it is about, in order, signed, until it answers.

The feed is what has happened, and each webhook has its place in it; so nothing is lost when a
server ends or a receiver is down for a while. One server at a time calls a webhook, and each
webhook goes on by itself: a slow receiver delays no other.
"""

import asyncio
import contextlib
import hashlib
import hmac
import logging
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import msgspec

from headwater.errors import AnswerTooLarge, HeadwaterError, TooManySplits
from headwater.openlineage.masking import mask_text
from headwater.server.lineage.view import StoreViews
from headwater.server.live.items import is_about, nodes_about, parts_about, write
from headwater.server.store.feed import (
    SCHEMA_CHANGED,
    Lost,
    Numbered,
    RunChange,
    feed_ends,
    read_feed,
)
from headwater.server.store.graph_change import GraphChange
from headwater.server.store.hooks import Hook, claim, list_hooks, settle
from headwater.server.store.store import Store
from headwater.version import __version__

_EVERY = 1.0  # seconds between looks
_CLAIM = 120.0
_TURN = 60.0  # seconds after which no further call is made under one claim
_PATIENCE = 10.0  # seconds for a call, however its answer comes in
_REST = 1.0  # seconds for the rest of an answer, so that its connection can be used again
_MOST_REST = 64 * 2**10  # bytes of it
_ROOM = 128 * 2**10  # bytes of entries that are read for one webhook at a time
_LONGEST = 300.0  # seconds between two tries
_ENDED = {"FAILED": "run.failed", "ABORTED": "run.aborted"}
_LEFT_OUT = "webhook %s: the changes before %d take %d bytes, and are left out"
_log = logging.getLogger(__name__)


class Webhooks:
    """The task that calls webhooks."""

    def __init__(self, store: Store, views: StoreViews) -> None:
        self._store, self._views = store, views
        self._failed: dict[int, int] = {}
        self._refused: dict[int, str] = {}  # why what a webhook is about cannot be looked up
        self._serving: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Go on until cancelled."""
        async with new_client() as client:
            try:
                while True:
                    await asyncio.sleep(_EVERY)
                    try:
                        await self.start_due(client)
                    except self._store.database.errors as error:
                        _log.warning("webhooks are not called: the store says %s", error)
                    except Exception:
                        _log.exception("webhooks could not be called")
            finally:
                await self.stop()

    async def start_due(self, client: httpx.AsyncClient) -> list[asyncio.Task[None]]:
        """Begin to call each webhook for which there is news, unless it is being called."""
        due = await asyncio.to_thread(self._due)
        return [self._start(client, hook) for hook in due if hook.id not in self._serving]

    def _start(self, client: httpx.AsyncClient, hook: Hook) -> asyncio.Task[None]:
        task = self._serving[hook.id] = asyncio.create_task(self._serve(client, hook))
        task.add_done_callback(partial(self._served, hook))
        return task

    def _served(self, hook: Hook, task: asyncio.Task[None]) -> None:
        del self._serving[hook.id]
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("webhook %s could not be called", hook.name, exc_info=error)

    async def stop(self) -> None:
        """End the calls that are under way; they are made again later."""
        tasks = [*self._serving.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _due(self) -> list[Hook]:
        with self._store.database.reading() as session:
            hooks = list_hooks(session)
            last = feed_ends(session)[1] if hooks else 0
        return [hook for hook in hooks if hook.position < last]

    async def _serve(self, client: httpx.AsyncClient, hook: Hook) -> None:
        mine: bool = await self._change(lambda commit: claim(commit.session, hook, _CLAIM))
        if not mine:
            return
        try:
            entries, nodes = await asyncio.to_thread(self._read, hook)
        except (AnswerTooLarge, TooManySplits) as error:
            self._note_refusal(hook, error)
            await self._change(lambda commit: settle(commit.session, hook, hook.position, _LONGEST))
            return
        self._refused.pop(hook.id, None)
        position, wait = hook.position, 0.0
        until = time.monotonic() + _TURN
        for numbered in entries:
            if time.monotonic() > until:
                break
            if isinstance(numbered.entry, Lost):
                _log.warning(_LEFT_OUT, hook.name, numbered.number, numbered.entry.size)
            for body in bodies(hook, numbered, nodes):
                reason = await _call(client, hook, body)
                if reason is not None:
                    wait = self._next_try(hook, reason)
                    break
            if wait:
                break
            self._failed.pop(hook.id, None)
            position = numbered.number
        await self._change(lambda commit: settle(commit.session, hook, position, wait))

    async def _change(self, work: Any) -> Any:
        return await asyncio.wrap_future(self._store.writer.change(work))

    def _read(self, hook: Hook) -> tuple[list[Numbered], frozenset[str] | None]:
        with self._views.open_view() as view:
            nodes = nodes_about(view, hook.node) if hook.node else None
            return read_feed(view.session, hook.position, _ROOM), nodes

    def _note_refusal(self, hook: Hook, error: HeadwaterError) -> None:
        """Log why a webhook cannot be called, once for each reason."""
        reason = str(error)
        if self._refused.get(hook.id) != reason:
            self._refused[hook.id] = reason
            _log.warning("webhook %s: %s; it is tried every %g s", hook.name, reason, _LONGEST)

    def _next_try(self, hook: Hook, reason: str) -> float:
        tries = self._failed[hook.id] = self._failed.get(hook.id, 0) + 1
        wait: float = min(_LONGEST, 2.0 ** min(tries, 10) / 2)
        _log.warning("webhook %s: %s; attempt %d, next one in %g s", hook.name, reason, tries, wait)
        return wait


def bodies(
    hook: Hook, numbered: Numbered, nodes: frozenset[str] | None
) -> Iterator[dict[str, Any]]:
    """What a webhook is told of an entry: nothing, one thing, or two."""
    item, about = write(numbered), None if hook.node is None else nodes or frozenset()
    if item.is_rest if about is None else not is_about(item, about):
        return
    for kind in _kinds(numbered, about):
        if kind in hook.kinds:
            data = msgspec.json.decode(item.text.split(b"\ndata: ", 1)[1])
            yield {"id": f"{hook.id}-{numbered.number}-{kind}", "type": kind, "data": data}


def _kinds(numbered: Numbered, about: frozenset[str] | None) -> list[str]:
    entry = numbered.entry
    if isinstance(entry, RunChange):
        return [_ENDED[entry.state]] if entry.state in _ENDED else []
    if not isinstance(entry, GraphChange):
        return []
    kinds = {*entry.kinds}
    if about is not None and entry.parts is not None:
        kinds = {kind for part in parts_about(entry.parts, about) for kind in part.kinds}
    found = ["lineage.changed"] if kinds - {SCHEMA_CHANGED} else []
    return [*found, "schema.changed"] if SCHEMA_CHANGED in kinds else found


def signed(secret: str, body: bytes, at: int) -> str:
    """The signature of a body, sent at a time: HMAC-SHA256 over `TIME.BODY`."""
    told = hmac.new(secret.encode(), b"%d.%s" % (at, body), hashlib.sha256).hexdigest()
    return f"t={at},v1={told}"


def request(hook: Hook, told: dict[str, Any]) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a call."""
    body = msgspec.json.encode(told)
    headers = {
        "content-type": "application/json",
        "user-agent": f"headwater/{__version__}",
        "headwater-delivery": str(told["id"]),
        "headwater-signature": signed(hook.secret, body, int(time.time())),
    }
    return body, headers


def new_client() -> httpx.AsyncClient:
    """A client for calls; receivers that keep their connections leave enough for others."""
    limits = httpx.Limits(max_connections=None)
    return httpx.AsyncClient(timeout=_PATIENCE, trust_env=False, limits=limits)


async def post(client: httpx.AsyncClient, hook: Hook, told: dict[str, Any]) -> int:
    """Call, and give the status of the answer.

    Raises: httpx.HTTPError. TimeoutError, when there is none after ten seconds in all.
    """
    body, headers = request(hook, told)
    async with (
        asyncio.timeout(_PATIENCE),
        client.stream("POST", hook.url, content=body, headers=headers) as answer,
    ):
        await _discard_rest(answer)
        return answer.status_code


async def _discard_rest(answer: httpx.Response) -> None:
    """Read the body of an answer, unless it is long or slow: then its connection is closed."""
    left = _MOST_REST
    with contextlib.suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(_REST):
            async for part in answer.aiter_raw():
                left -= len(part)
                if left < 0:
                    return


async def _call(client: httpx.AsyncClient, hook: Hook, told: dict[str, Any]) -> str | None:
    """Call; why it failed, or None."""
    try:
        status = await post(client, hook, told)
    except TimeoutError:
        return f"no answer within {_PATIENCE:g} s"
    except httpx.HTTPError as error:
        return mask_text(str(error)) or type(error).__name__
    return None if 200 <= status < 300 else f"it answered {status}"
