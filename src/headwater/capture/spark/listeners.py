"""The two Java interfaces that Spark calls back through py4j, as thin as they can be.

A callback only notes what it was told; anything slow happens in capture's own threads, for
Spark delivers to all listeners from one.
"""

import time
from typing import Any

from headwater.capture.guard import Guard
from headwater.capture.spark.batches import Batches
from headwater.capture.spark.jvm import Java
from headwater.capture.spark.streams import Streams
from headwater.capture.worker import Worker


class StreamingListener:
    """Spark's StreamingQueryListener."""

    def __init__(self, streams: Streams, guard: Guard, worker: Worker) -> None:
        self._streams, self._guard, self._worker = streams, guard, worker

    def onQueryStarted(self, event: Java) -> None:  # noqa: N802
        """A query started."""
        self._guard.run("a query's start", lambda: self._streams.started(event))

    def onQueryProgress(self, event: Java) -> None:  # noqa: N802
        """A micro-batch finished."""
        self._guard.run("a query's progress", lambda: self._streams.progressed(event))

    def onQueryIdle(self, event: Java) -> None:  # noqa: N802
        """A trigger found nothing to do."""

    def onQueryTerminated(self, event: Java) -> None:  # noqa: N802
        """A query ended."""
        self._worker.do("a query's end", lambda: self._streams.terminated(event))

    class Java:
        """What py4j needs to know."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


class ActionListener:
    """Spark's QueryExecutionListener."""

    def __init__(self, batches: Batches, worker: Worker) -> None:
        self._batches, self._worker = batches, worker

    def onSuccess(self, _function: str, execution: Java, duration_ns: int) -> None:  # noqa: N802
        """A batch action succeeded."""
        self._finished(execution, duration_ns, None)

    def onFailure(self, _function: str, execution: Java, error: Java) -> None:  # noqa: N802
        """A batch action failed."""
        self._finished(execution, 0, error)

    def _finished(self, execution: Java, duration_ns: int, error: Any) -> None:
        at = time.monotonic()
        self._worker.do(
            "a batch action",
            lambda: self._batches.finished(execution, duration_ns, error, at),
        )

    class Java:
        """What py4j needs to know."""

        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)
