"""A batch job as a worker hosts it: run at once, and again after each pause."""

import logging
import threading
import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from headwater.errors import HeadwaterError
from headwater.pipeline.failures import is_transient
from headwater.pipeline.flows import Flow, PipelineContext
from headwater.pipeline.journal import Journal
from headwater.pipeline.observe import observed
from headwater.pipeline.settings import Settings
from headwater.pipeline.states import State, describe

_log = logging.getLogger(__name__)
_STOP_S = 30.0
# The pauses before a transient failure is tried again.
BACKOFF_S = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class BatchTask:
    """One batch job and the thread that runs it now, if one does."""

    query = None

    def __init__(
        self,
        name: str,
        run: Callable[[SparkSession, Settings], None],
        context: PipelineContext,
        every_ms: int = 0,
        journal: Journal | None = None,
    ) -> None:
        self.journal = journal or Journal()
        self.flow = Flow(name, lambda _start: None)
        self._run, self._context = run, context
        self._every_s = every_ms / 1000
        self._due = 0.0
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._retrying = False
        self._failures = 0
        self.trace = ""

    @property
    def state(self) -> State:
        """Running, also while it waits for its next time, waiting after a failure, or failed."""
        if self._retrying:
            return State.BACKOFF
        return State.FAILED if self.trace else State.RUNNING

    @property
    def active(self) -> bool:
        """Whether the job runs now."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Run the job now, in a thread of its own."""
        self.trace, self._stopping, self._retrying = "", False, False
        self._due = time.monotonic() + self._every_s if self._every_s else float("inf")
        name = f"batch-{self.flow.name}"
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def poll(self) -> None:
        """Run the job again when its time has come and the last run is over."""
        over = self._thread is None or not self._thread.is_alive()
        failed = bool(self.trace) and not self._retrying
        if over and not failed and time.monotonic() >= self._due:
            self.start()

    def stop(self) -> bool:
        """Cancel what runs, and wait for its end; false while it has not ended yet."""
        thread = self._thread
        self._stopping = True
        if thread is not None and thread.is_alive():
            self._context.spark.sparkContext.cancelJobGroup(self.flow.name)
            thread.join(_STOP_S)
        return thread is None or not thread.is_alive()

    def _work(self) -> None:
        context, name = self._context.spark.sparkContext, self.flow.name
        try:
            context.setLocalProperty("spark.scheduler.pool", name)
            context.setJobGroup(name, name, interruptOnCancel=True)
            self.journal.info(f"{name} runs")
            with observed(self._context.spark, name) as session:
                self._run(session, self._context.settings)
            self._failures = 0
            self.journal.info(f"{name} is done")
        except Exception as error:  # whatever a service or Spark says, the neighbours go on
            if not self._stopping:
                if not isinstance(error, HeadwaterError):
                    _log.exception("%s failed", name)
                self.trace = describe(error)
                self.journal.error(f"{name} failed: {self.trace}")
                if is_transient(error):
                    pause = BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)]
                    self._failures += 1
                    self._retrying, self._due = True, time.monotonic() + pause
