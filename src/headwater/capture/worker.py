"""Capture's own thread: does in order what Spark's threads must not wait for."""

import queue
import threading
import time
from collections.abc import Callable

from headwater.capture.fault_barrier import FaultBarrier

_TICK = 0.5


class Worker:
    """Runs tasks one after the other, and a tick in between."""

    def __init__(self, barrier: FaultBarrier, name: str, tick: Callable[[], object] = bool) -> None:
        self._barrier, self._tick = barrier, tick
        self._tasks: queue.SimpleQueue[tuple[str, Callable[[], object]]] = queue.SimpleQueue()
        self._open = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def do(self, what: str, task: Callable[[], object]) -> None:
        """Add a task; returns at once."""
        with self._lock:
            self._open += 1
        self._tasks.put((what, task))

    def drain(self, seconds: float) -> bool:
        """Wait until nothing is left to do, for at most `seconds`."""
        deadline = time.monotonic() + seconds
        while self._open and time.monotonic() < deadline and self._thread.is_alive():
            time.sleep(0.01)
        return not self._open

    def close(self) -> None:
        """Stop after the task at hand."""
        self._closing.set()

    def _run(self) -> None:
        due = time.monotonic() + _TICK
        while not self._closing.is_set():
            try:
                what, task = self._tasks.get(timeout=max(0.0, due - time.monotonic()))
            except queue.Empty:
                due = time.monotonic() + _TICK
                self._barrier.run("a tick", self._tick)
                continue
            self._barrier.run(what, task)
            with self._lock:
                self._open -= 1
