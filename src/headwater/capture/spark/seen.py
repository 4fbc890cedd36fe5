"""Takes in what the listeners inside a JVM saw, in a thread that waits for it."""

import threading
import time
import uuid
from collections.abc import Callable

from headwater.capture.fault_barrier import FaultBarrier, jvm_is_gone
from headwater.capture.spark.jvm import Java
from headwater.capture.spark.listeners import ActionListener
from headwater.capture.spark.rdds import RddSaves

_WAIT_MS = 500
# Set when the thread that reads the queue comes to them, and so is through with all before.
_marks: dict[str, threading.Event] = {}


class Seen:
    """Reads the JVM's queue: ends of actions, checkpoints, starts of queries, saves of RDDs."""

    def __init__(
        self,
        jvm: Java,
        context: Java,
        queue: Java,
        barrier: FaultBarrier,
        action: ActionListener,
        query_started: Callable[[Java], object],
        saves: RddSaves,
        checkpointed: Callable[[Java, int], object],
    ) -> None:
        self._queue, self._barrier, self._context = queue, barrier, context
        self._action, self._query_started, self._saves = action, query_started, saves
        self._milliseconds = jvm.java.util.concurrent.TimeUnit.MILLISECONDS
        self._checkpointed = checkpointed
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headwater-jvm", daemon=True)
        self._thread.start()

    def drain(self, seconds: float) -> None:
        """Wait until everything is taken in that was seen by now, for at most `seconds`."""
        deadline = time.monotonic() + seconds
        name, taken = str(uuid.uuid4()), threading.Event()
        _marks[name] = taken
        self._barrier.attempt(
            lambda: self._queue.offer(name, int(seconds * 1e3), self._milliseconds)
        )
        while not taken.wait(0.05) and time.monotonic() < deadline and self._thread.is_alive():
            pass
        _marks.pop(name, None)

    def close(self) -> None:
        """Take in nothing more."""
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            error = self._barrier.attempt(self._take)
            if error is not None and jvm_is_gone(error):
                return
            if error is not None:
                self._barrier.note("what the JVM saw", error)

    def _take(self) -> None:
        seen = self._queue.poll(_WAIT_MS, self._milliseconds)
        if seen is None:
            return
        if isinstance(seen, str):
            mark = _marks.get(seen)
            if mark is not None:
                mark.set()
            return
        subject, is_save = seen.subject(), bool(seen.isSave())
        is_checkpoint = bool(seen.isCheckpoint())
        execution = subject.execution() if is_checkpoint else subject
        context = (subject.rdd() if is_save else execution.sparkSession()).sparkContext()
        if not self._context.equals(context):
            if self._context.isStopped():  # and the application has made another one
                self._queue.offer(seen)
                self.close()
            return  # else it is left from a context before ours
        if is_save:
            error, is_over = seen.error(), int(seen.duration()) >= 0
            self._barrier.run(
                "an RDD's save", lambda: self._saves.seen(subject, error, is_over=is_over)
            )
        elif is_checkpoint:
            self._checkpointed(execution, int(subject.rdd()))
        elif seen.isAction():
            at = time.monotonic() - int(seen.age()) / 1e9
            self._action.finished(subject, int(seen.duration()), seen.error(), at)
        else:
            self._barrier.run("a query's start", lambda: self._query_started(subject))
