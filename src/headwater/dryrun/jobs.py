"""Whether Spark ran jobs for an application: what these computed, it may have used.

The jobs are counted, not the methods that start them: a quantile, the fit of a model and the values
of a pivot are all computed by jobs, whatever they are called.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from pyspark.sql import SparkSession

from headwater.dryrun.threads import owner_of_thread


class JobCount:
    """Counts the jobs of a Spark application, but for those on our own behalf."""

    def __init__(self, spark: SparkSession) -> None:
        self._scheduler = spark.sparkContext._jsc.sc().dagScheduler()
        self._lock, self._depth = RLock(), 0
        self._known = self._total()

    def has_grown(self) -> bool:
        """Whether a job was started since the beginning."""
        with self._lock:
            return self._total() > self._known

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count jobs for a while, unless other threads of the application may start some."""
        with self._lock:
            before, self._depth = self._total(), self._depth + 1
            try:
                yield
            finally:
                self._depth -= 1
                owner = owner_of_thread()
                if not self._depth and (owner is None or owner.is_alone):
                    self._known += self._total() - before

    def _total(self) -> int:
        return int(self._scheduler.numTotalJobs())
