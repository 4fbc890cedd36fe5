"""Threads for work that would hold up the event loop, and how much may wait for them."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from headwater.errors import ServerBusy

T = TypeVar("T")
_THREADS = 2  # threads take turns in Python: more would only hold more memory
_WAITING = 500  # pieces of work
_LARGE = 2**20  # bytes of an event that is read on its own


class Lane:
    """Runs pieces of work in a few threads; refuses more than may wait."""

    def __init__(self, most_bytes: int) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, "lane")
        self._most_bytes = most_bytes
        self._bytes = self._pieces = 0
        self._large = threading.Lock()

    @contextmanager
    def hold(self) -> Iterator[Callable[[int], None]]:
        """Count the bytes of a request for as long as it is read; each claim adds to them.

        Raises: ServerBusy, by a claim, when all requests together hold too much.
        """
        held = 0

        def claim(size: int) -> None:
            nonlocal held
            if self._bytes + size > self._most_bytes:
                raise ServerBusy
            held, self._bytes = held + size, self._bytes + size

        try:
            yield claim
        finally:
            self._bytes -= held

    async def run(self, size: int, work: Callable[..., T], *args: Any) -> T:
        """Run work on so many bytes in a thread, and wait for its result.

        Raises: ServerBusy, when too much waits already; whatever the work raises.
        """
        if self._pieces >= _WAITING:
            raise ServerBusy
        self._pieces += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, self._run, size, work, args)
        finally:
            self._pieces -= 1

    def _run(self, size: int, work: Callable[..., T], args: tuple[Any, ...]) -> T:
        if size < _LARGE:
            return work(*args)
        with self._large:  # decoded, it may take 40 times as much
            return work(*args)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)
