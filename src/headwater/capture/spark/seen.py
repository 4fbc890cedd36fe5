"""Takes in what the listeners inside a JVM saw, in a thread that waits for it."""

import threading
import time
from collections.abc import Callable

from headwater.capture.guard import Guard, jvm_is_gone
from headwater.capture.spark.jvm import Java
from headwater.capture.spark.listeners import ActionListener
from headwater.capture.spark.rdds import RddSaves

_WAIT_MS = 500


class Seen:
    """Reads the JVM's queue: ends of batch actions, starts of streaming queries, saves of RDDs."""

    def __init__(
        self,
        jvm: Java,
        context: Java,
        queue: Java,
        guard: Guard,
        action: ActionListener,
        query_started: Callable[[Java], object],
        saves: RddSaves,
    ) -> None:
        self._queue, self._guard, self._context = queue, guard, context
        self._action, self._query_started, self._saves = action, query_started, saves
        self._milliseconds = jvm.java.util.concurrent.TimeUnit.MILLISECONDS
        self._closing = threading.Event()
        self._idle = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headwater-jvm", daemon=True)
        self._thread.start()

    def drain(self, seconds: float) -> None:
        """Wait until everything is taken in that was seen by now, for at most `seconds`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._thread.is_alive():
            if self._idle.is_set() and self._is_empty() and self._idle.is_set():
                return
            time.sleep(0.01)

    def _is_empty(self) -> bool:
        found: list[bool] = []
        gone = self._guard.attempt(lambda: found.append(bool(self._queue.isEmpty())))
        return gone is not None or found[0]

    def close(self) -> None:
        """Take in nothing more."""
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            error = self._guard.attempt(self._take)
            if error is not None and jvm_is_gone(error):
                return
            if error is not None:
                self._guard.note("what the JVM saw", error)

    def _take(self) -> None:
        self._idle.set()
        seen = self._queue.poll(_WAIT_MS, self._milliseconds)
        self._idle.clear()
        if seen is None:
            return
        subject, is_save = seen.subject(), bool(seen.isSave())
        context = (subject.rdd() if is_save else subject.sparkSession()).sparkContext()
        if not self._context.equals(context):
            # Our context was stopped, and the application has made another one.
            self._queue.offer(seen)
            self.close()
            return
        if is_save:
            error, is_over = seen.error(), int(seen.duration()) >= 0
            self._guard.run(
                "an RDD's save", lambda: self._saves.seen(subject, error, is_over=is_over)
            )
        elif seen.isAction():
            at = time.monotonic() - int(seen.age()) / 1e9
            self._action.finished(subject, int(seen.duration()), seen.error(), at)
        else:
            self._guard.run("a query's start", lambda: self._query_started(subject))
