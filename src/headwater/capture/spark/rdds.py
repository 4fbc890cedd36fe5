"""Follows RDDs that are written into files: Spark tells of their jobs, but not what they are."""

import uuid
from typing import Any

from headwater.capture import facets
from headwater.capture.datasets import naming
from headwater.capture.events import JobName, Moment, RunName, snake, tail
from headwater.capture.runs import Runs
from headwater.capture.spark.extract import Extractor
from headwater.capture.spark.jvm import Java
from headwater.capture.worker import Worker


class RddSaves:
    """Turns each save of an RDD into a run."""

    def __init__(self, runs: Runs, extractor: Extractor, worker: Worker, parent: RunName) -> None:
        self._runs, self._extractor = runs, extractor
        self._worker, self._parent = worker, parent

    def started(self, rdd: Any, method: str, place: str) -> str:
        """A save begins; what it reads is found out beside it."""
        job = self._parent.job
        name = f"{job.name}.{snake(method)}.{tail(naming.location(place).name)}"
        run = RunName(str(uuid.uuid4()), JobName(job.namespace, name))
        self._runs.start(run, facets.job_type("BATCH", "RDD_JOB"), parent=self._parent)
        if place:
            java = rdd._jrdd.rdd()
            self._worker.do("an RDD's save", lambda: self._describe(run.run_id, java, place))
        return run.run_id

    def ended(self, run_id: str, error: BaseException | None) -> None:
        """A save is over."""

        def end() -> None:
            if error is None:
                self._runs.end(run_id, Moment.COMPLETE)
            else:
                self._runs.fail(run_id, error)

        self._worker.do("an RDD's end", end)

    def _describe(self, run_id: str, rdd: Java, place: str) -> None:
        described = self._extractor.rdd(rdd, place)
        self._runs.describe(
            run_id,
            described.inputs(),
            described.outputs(),
            described.notes(),
        )
