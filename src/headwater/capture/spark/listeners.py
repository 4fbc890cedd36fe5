"""The Java interface that Spark calls back through py4j, as thin as it can be.

A callback only notes what it was told; anything slow happens in capture's own threads, for
Spark delivers to all listeners from one.
"""

import time
from typing import Any

from headwater.capture.spark.batches import Batches
from headwater.capture.spark.jvm import Java
from headwater.capture.worker import Worker


class ActionListener:
    """Spark's QueryExecutionListener."""

    def __init__(self, batches: Batches, worker: Worker) -> None:
        self._batches, self._worker = batches, worker

    def onSuccess(self, _function: str, execution: Java, duration_ns: int) -> None:  # noqa: N802
        """A batch action succeeded."""
        self.finished(execution, duration_ns, None, time.monotonic())

    def onFailure(self, _function: str, execution: Java, error: Java) -> None:  # noqa: N802
        """A batch action failed."""
        self.finished(execution, 0, error, time.monotonic())

    def finished(self, execution: Java, duration_ns: int, error: Any, at: float) -> None:
        """An action was over at a moment of the monotonic clock."""
        self._worker.do(
            "a batch action",
            lambda: self._batches.finished(execution, duration_ns, error, at),
        )

    class Java:
        """What py4j needs to know."""

        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)
