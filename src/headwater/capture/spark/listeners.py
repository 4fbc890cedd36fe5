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
