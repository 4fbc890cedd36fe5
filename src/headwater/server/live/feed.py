"""Tells those who watch what commits change, as they happen, whichever server made them.

One task reads the feed when a commit of this server has news, and every so often for those
of others; each entry is written once and handed to every client that wants it. A client that
does not keep up is let go: it comes back with the number it had last, and misses nothing.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from headwater.http.keys import Key
from headwater.openlineage.names import JobName, NodeId, NodeKind
from headwater.openlineage.times import format_moment, parse_moment
from headwater.server.lineage.jobs import job_names
from headwater.server.lineage.view import StoreView
from headwater.server.lineage.walk import Walk
from headwater.server.metrics import DROPPED, WATCHING
from headwater.server.store.database import Database
from headwater.server.store.feed import (
    GraphChange,
    Numbered,
    Progress,
    RunChange,
    feed_ends,
    read_feed,
)

TYPES = ("run", "progress", "graph")
_BEHIND = 2000  # entries that may wait for a client
_PAGE = 500  # commits read at once
_QUIET = 15.0  # seconds after which a client is told that it is still heard
_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode


class Item(NamedTuple):
    """An entry as clients are sent it, and what filters ask of it."""

    number: int
    type: str
    nodes: frozenset[str]
    text: bytes
    namespace: str | None = None  # of the job whose run it is about


class Filter(NamedTuple):
    """What a client wants: some types of entries, about some nodes (or all)."""

    types: frozenset[str]
    nodes: frozenset[str] | None
    key: Key | None = None

    def wants(self, item: Item) -> bool:
        """Whether an entry is for this client."""
        return item.type in self.types and (
            self.nodes is None or not self.nodes.isdisjoint(item.nodes)
        )

    def shown(self, item: Item) -> bytes:
        """An entry as this client may see it; empty if it may not."""
        if self.key is None or not self.key.is_limited:
            return item.text
        if item.namespace is not None:
            return item.text if self.key.covers(item.namespace) else b""
        own = sorted(node for node in item.nodes if _is_own(self.key, node))
        if not own:
            return b""
        if len(own) == len(item.nodes):
            return item.text
        head, _, data = item.text.partition(b"data: ")
        return b"%sdata: %s\n\n" % (head, _encode({**msgspec.json.decode(data), "nodeIds": own}))


def _is_own(key: Key, node: str) -> bool:
    """Whether a node is of a key's namespaces, wherever its namespace ends."""
    rest = node.partition(":")[2]
    return any(rest.startswith(prefix) and ":" in rest[len(prefix) :] for prefix in key.namespaces)


class Client:
    """One who watches: what waits for them, until they are too far behind."""

    __slots__ = ("filter", "is_gone", "key", "waiting", "wake")

    def __init__(self, wanted: Filter) -> None:
        self.filter, self.key = wanted, wanted.key
        self.waiting: list[Item] = []
        self.wake = asyncio.Event()
        self.is_gone = False

    def hand(self, item: Item) -> None:
        """Let an entry wait for the client."""
        if not self.filter.wants(item):
            return
        self.waiting.append(item)
        if len(self.waiting) > _BEHIND and not self.is_gone:
            self.is_gone = True
            DROPPED.inc()
        self.wake.set()

    def end(self) -> None:
        """Let the client go, without what waits for it."""
        self.is_gone = True
        self.waiting.clear()
        self.wake.set()

    def take(self) -> list[Item]:
        """All that waits."""
        taken, self.waiting = self.waiting, []
        self.wake.clear()
        return taken


class Watchers:
    """How many streams each key and each address has open."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: Counter[Hashable] = Counter()

    @contextmanager
    def admitted(self, *names: Hashable) -> Iterator[bool]:
        """Count a stream under each name; whether none of them has too many."""
        is_free = all(self._open[name] < self.most for name in names)
        if not is_free:
            yield False
            return
        self._open.update(names)
        try:
            yield True
        finally:
            self._open.subtract(names)
            self._open += Counter()  # forget those who have none


class Live:
    """The task that reads the feed, and its clients."""

    def __init__(self, database: Database, every: float) -> None:
        self._database, self._every = database, every
        self._clients: set[Client] = set()
        self._last = -1
        self._instance = database.instance
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False

    def start(self) -> None:
        """Begin, on the running loop."""
        self._loop, self._task = asyncio.get_running_loop(), asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End, with all clients."""
        self.close()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def close(self) -> None:
        """Let all clients go: they come back to another server, or to this one anew."""
        self._is_closing = True
        self.keep(lambda _: False)

    def keep(self, is_allowed: Callable[[Key | None], bool]) -> None:
        """Let those clients go whose key is not allowed what it was."""
        for client in self._clients:
            if not is_allowed(client.key):
                client.end()

    def nudge(self) -> None:
        """Tell, from any thread, that a commit has news."""
        if self._clients and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._wake.set)

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._every if self._clients else None)
            self._wake.clear()
            try:
                await self._pass_on()
            except self._database.errors as error:
                _log.warning("the feed cannot be read: %s", error)
            except Exception:
                _log.exception("the feed could not be sent to clients")

    async def _pass_on(self) -> None:
        if self._instance != self._database.instance:
            await self._start_over()
        while self._clients and self._last >= 0:
            found = await asyncio.to_thread(self._read, self._last)
            for item in found:
                for client in self._clients:
                    client.hand(item)
            if not found:
                return
            self._last = found[-1].number

    async def _start_over(self) -> None:
        """Let all clients go when another database answers: its numbers may mean other entries."""
        self._instance = self._database.instance
        self.keep(lambda _: False)
        _, self._last = await asyncio.to_thread(self._ends)

    def _read(self, after: int) -> list[Item]:
        with self._database.reading() as session:
            return [write(numbered) for numbered in read_feed(session, after, _PAGE)]

    def _ends(self) -> tuple[int, int]:
        with self._database.reading() as session:
            return feed_ends(session)

    async def watch(self, wanted: Filter, after: int | None) -> AsyncIterator[bytes]:
        """What happens from now on, or after a number, as server-sent events."""
        client = Client(wanted)
        first, last = await asyncio.to_thread(self._ends)
        if not self._clients:
            self._last = last
        # From here on what is new waits for the client; what was before is read from the store.
        self._clients.add(client)
        self._wake.set()
        WATCHING.set(len(self._clients))
        try:
            yield b"retry: 1000\n\n"
            if after is not None and not first - 1 <= after <= last:
                yield b"id: %d\nevent: lost\ndata: {}\n\n" % last
                after = last
            seen = last if after is None else after
            async for item in self._before(seen, wanted, client):
                if text := wanted.shown(item):
                    yield text
                seen = item.number
            async for text in self._from_now(client, seen):
                yield text
        finally:
            self._clients.discard(client)
            WATCHING.set(len(self._clients))

    async def _before(self, after: int, wanted: Filter, client: Client) -> AsyncIterator[Item]:
        """What is in the store and was not handed to the client."""
        until = self._last
        while after < until and not client.is_gone:
            found = await asyncio.to_thread(self._read, after)
            for item in found:
                if item.number <= until and wanted.wants(item):
                    yield item
            if not found:
                return
            after = found[-1].number

    async def _from_now(self, client: Client, seen: int) -> AsyncIterator[bytes]:
        while not client.is_gone and not self._is_closing:
            items = [item for item in client.take() if item.number > seen]
            if items:
                if text := b"".join(map(client.filter.shown, items)):
                    yield text
                continue
            try:
                await asyncio.wait_for(client.wake.wait(), _QUIET)
            except TimeoutError:
                yield b": still here\n\n"


def nodes_about(view: StoreView, text: str) -> frozenset[str] | None:
    """The nodes that a filter by one means: of a dataset its jobs too; None if there is none."""
    node = NodeId.parse(text)
    if node is None:
        return None
    if node.kind is NodeKind.JOB:
        return frozenset([text]) if view.find_job(node) is not None else None
    column = view.find_field(node) if node.kind is NodeKind.FIELD else None
    root = column[0] if column else view.find_dataset(node)
    if root is None:
        return None
    names = job_names(view, Walk(view).jobs_of({root})).values()
    return frozenset([str(view.names.of([root])[root]), *(str(JobName(*name)) for name in names)])


def write(numbered: Numbered) -> Item:
    """An entry as it is sent."""
    number, entry = numbered
    if isinstance(entry, RunChange):
        return _item(number, "run", [_node(entry)], _run(entry), entry.namespace)
    if isinstance(entry, Progress):
        return _item(number, "progress", [_node(entry)], _progress(entry), entry.namespace)
    return _item(number, "graph", entry.nodes, _graph(entry))


def _item(
    number: int, kind: str, nodes: list[str], data: dict[str, Any], namespace: str | None = None
) -> Item:
    text = b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode(), _encode(data))
    return Item(number, kind, frozenset(nodes), text, namespace)


def _node(entry: RunChange | Progress) -> str:
    return str(JobName(entry.namespace, entry.name))


def _about(entry: RunChange | Progress) -> dict[str, Any]:
    return {
        "runId": str(UUID(bytes=entry.run)),
        "job": {"namespace": entry.namespace, "name": entry.name},
        "nodeId": _node(entry),
        "at": format_moment(entry.at),
    }


def _run(entry: RunChange) -> dict[str, Any]:
    return {**_about(entry), "state": entry.state, "error": entry.error}


def _progress(entry: Progress) -> dict[str, Any]:
    return {
        **_about(entry),
        "rows": entry.rows,
        "rowsPerSecond": entry.rate,
        "lagRows": entry.lag,
        "lagSeconds": _seconds_behind(entry),
        "watermark": entry.watermark,
    }


def _seconds_behind(entry: Progress) -> float | None:
    """How far the watermark is behind the time at which the run told it."""
    try:
        mark = parse_moment(entry.watermark) if entry.watermark else 0
    except (ValueError, OverflowError):
        return None
    return max(0.0, (entry.at - mark) / 1e6) if mark > 0 else None


def _graph(entry: GraphChange) -> dict[str, Any]:
    return {"at": format_moment(entry.at), "kinds": entry.kinds, "nodeIds": entry.nodes}
