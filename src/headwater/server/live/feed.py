"""Tells those who watch what commits change, as they happen, whichever server made them.

One task reads the feed when a commit of this server has news, and every so often for those
of others; each entry is written once, and held once for all clients. A client that does not
keep up is let go: it comes back with the number it had last, and misses nothing.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import contextmanager

from headwater.http.keys import Key
from headwater.server.live.items import Filter, Item, lost, write
from headwater.server.live.window import Window
from headwater.server.metrics import DROPPED, WATCHING
from headwater.server.store.database import Database
from headwater.server.store.feed import READ, feed_ends, read_feed

_CAUGHT_UP = 64 * 2**10  # bytes of earlier entries that are read for one client at a time
_AT_ONCE = 64  # entries that are looked at for a client in one go
_PART = 64 * 2**10  # bytes after which what a client is sent is handed over
_QUIET = 15.0  # seconds after which a client is told that it is still heard
_log = logging.getLogger(__name__)


class Client:
    """One who watches: the last entry they were sent, or did not want."""

    __slots__ = ("filter", "is_following", "is_gone", "key", "seen", "wake")

    def __init__(self, wanted: Filter, seen: int) -> None:
        self.filter, self.key, self.seen = wanted, wanted.key, seen
        self.wake = asyncio.Event()
        self.is_following = self.is_gone = False

    def end(self) -> None:
        """Let the client go."""
        self.is_gone = True
        self.wake.set()

    def take(self, items: list[Item]) -> bytes:
        """What the client is sent of the next entries; a part of them may do."""
        parts: list[bytes] = []
        size = 0
        for item in items:
            self.seen = item.number
            if text := self.filter.shown(item):
                parts.append(text)
                size += len(text)
                if size > _PART:
                    break
        return b"".join(parts)


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
        self._window = Window()
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
        while self._clients and self._window.end >= 0:
            after = self._window.end
            found = await asyncio.to_thread(self._read, after, READ)
            if self._window.end != after:  # all clients went, and another came
                continue
            if not found:
                return
            self._window.add(found)
            for client in self._clients:
                self._tell(client)

    def _tell(self, client: Client) -> None:
        """Wake a client for what is new, or let it go when it is too far behind."""
        if client.is_following and client.seen < self._window.start and not client.is_gone:
            DROPPED.inc()
            client.end()
        client.wake.set()

    async def _start_over(self) -> None:
        """Let all clients go when another database answers: its numbers may mean other entries."""
        self._instance = self._database.instance
        self.keep(lambda _: False)
        _, last = await asyncio.to_thread(self._ends)
        self._window.reset(last)

    def _read(self, after: int, room: int) -> list[Item]:
        with self._database.reading() as session:
            return [write(numbered) for numbered in read_feed(session, after, room)]

    def _ends(self) -> tuple[int, int]:
        with self._database.reading() as session:
            return feed_ends(session)

    async def watch(self, wanted: Filter, after: int | None) -> AsyncIterator[bytes]:
        """What happens from now on, or after a number, as server-sent events."""
        first, last = await asyncio.to_thread(self._ends)
        if not self._clients:
            self._window.reset(last)
        client = Client(wanted, last if after is None else after)
        self._clients.add(client)
        self._wake.set()
        WATCHING.set(len(self._clients))
        try:
            yield b"retry: 1000\n\n"
            if not first - 1 <= client.seen <= last:
                yield lost(last)
                client.seen = last
            async for text in self._news(client):
                yield text
        finally:
            self._clients.discard(client)
            WATCHING.set(len(self._clients))

    async def _news(self, client: Client) -> AsyncIterator[bytes]:
        """What comes after the last entry of a client: from the store, then as it happens."""
        clock = asyncio.get_running_loop().time
        quiet = clock() + _QUIET  # what others are sent does not put it off
        while not client.is_gone and not self._is_closing:
            client.wake.clear()
            before = client.seen
            # No entry is referred to while the client takes its time: the window may let go of it.
            if text := client.take(await self._next(client)):
                yield text
                quiet = clock() + _QUIET
            elif clock() >= quiet:
                yield b": still here\n\n"
                quiet = clock() + _QUIET
            if client.seen == before:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(client.wake.wait(), max(0, quiet - clock()))

    async def _next(self, client: Client) -> list[Item]:
        """Some entries after the last one of a client; none if there is nothing new."""
        if client.seen < self._window.start and not client.is_following:
            return await asyncio.to_thread(self._read, client.seen, _CAUGHT_UP)
        client.is_following = True
        return self._window.after(client.seen, _AT_ONCE)
