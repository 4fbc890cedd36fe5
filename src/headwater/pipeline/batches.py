"""A batch job as a worker hosts it: run at once, and again after each pause."""

import logging
import threading
import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from headwater.errors import HeadwaterError
from headwater.pipeline.flows import Flow, Site
from headwater.pipeline.journal import Journal
from headwater.pipeline.observe import observed
from headwater.pipeline.settings import Settings
from headwater.pipeline.states import State, told

_log = logging.getLogger(__name__)
_STOP_S = 30.0


class BatchTask:
    """One batch job and the thread that runs it now, if one does."""

    query = None

    def __init__(
        self,
        name: str,
        run: Callable[[SparkSession, Settings], None],
        site: Site,
        every_ms: int = 0,
        journal: Journal | None = None,
    ) -> None:
        self.journal = journal or Journal()
        self.flow = Flow(name, lambda _ids, _checkpoint: None)
        self._run, self._site = run, site
        self._every_s = every_ms / 1000
        self._due = 0.0
        self._thread: threading.Thread | None = None
        self._stopping = False
        self.trace = ""

    @property
    def state(self) -> State:
        """Running, also while it waits for its next time, or failed."""
        return State.FAILED if self.trace else State.RUNNING

    def start(self) -> None:
        """Run the job now, in a thread of its own."""
        self.trace, self._stopping = "", False
        self._due = time.monotonic() + self._every_s if self._every_s else float("inf")
        name = f"batch-{self.flow.name}"
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def poll(self) -> None:
        """Run the job again when its time has come and the last run is over."""
        over = self._thread is not None and not self._thread.is_alive()
        if over and not self.trace and time.monotonic() >= self._due:
            self.start()

    def stop(self) -> None:
        """Cancel what runs, and wait for its end."""
        thread, self._thread = self._thread, None
        self._stopping = True
        if thread is not None and thread.is_alive():
            self._site.spark.sparkContext.cancelJobGroup(self.flow.name)
            thread.join(_STOP_S)

    def _work(self) -> None:
        context, name = self._site.spark.sparkContext, self.flow.name
        try:
            context.setLocalProperty("spark.scheduler.pool", name)
            context.setJobGroup(name, name, interruptOnCancel=True)
            self.journal.info(f"{name} runs")
            with observed(self._site.spark, name) as session:
                self._run(session, self._site.settings)
            self.journal.info(f"{name} is done")
        except Exception as error:  # whatever a service or Spark says, the neighbours go on
            if not self._stopping:
                if not isinstance(error, HeadwaterError):
                    _log.exception("%s failed", name)
                self.trace = told(error)
                self.journal.error(f"{name} failed: {self.trace}")
