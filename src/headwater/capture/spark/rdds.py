"""Follows RDDs that are written into files: Spark tells of their jobs, but not what they are."""

import uuid
from datetime import UTC, datetime

from headwater.capture import facets
from headwater.capture.events import RunName, snake, tail
from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.runs import Runs
from headwater.capture.spark.described import Described
from headwater.capture.spark.extract import Extractor
from headwater.capture.spark.jvm import (
    CONTEXT_ENDED,
    Java,
    call,
    class_name,
    message,
    option,
    private_field,
    stack_trace,
)
from headwater.capture.worker import Worker
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.names import JobName


class RddSaves:
    """Turns each save of an RDD into a run."""

    def __init__(self, runs: Runs, extractor: Extractor, worker: Worker, parent: RunName) -> None:
        self._runs, self._extractor = runs, extractor
        self._worker, self._parent = worker, parent
        self._seen: dict[int, str] = {}
        self._barrier = FaultBarrier()

    def started(self, rdd: Java, method: str, place: str) -> str:
        """A save of a JVM's RDD begins; what it reads is found out beside it."""
        job = self._parent.job
        name = f"{job.name}.{snake(method)}.{tail(self._extractor.files_at(place).name)}"
        run = RunName(str(uuid.uuid4()), JobName(job.namespace, name))
        at = datetime.now(UTC)
        self._worker.do("an RDD's save", lambda: self._begin(run, rdd, place, at))
        return run.run_id

    def ended(self, run_id: str, error: BaseException | None) -> None:
        """A save is over."""

        def end() -> None:
            if error is None:
                self._runs.end(run_id, EventType.COMPLETE)
            else:
                self._runs.fail(run_id, error)

        self._worker.do("an RDD's end", end)

    def seen(self, save: Java, error: Java | None, *, is_over: bool) -> None:
        """A save of the JVM's own code was seen to begin, or to end."""
        rdd = save.rdd()
        key = int(save.hashCode())
        if not is_over:
            method = str(call(option(rdd.scope()), "name") or "")
            method = method if method.startswith("saveAs") else "saveAsHadoopFile"
            self._seen[key] = self.started(rdd, method, _place(save.function()))
        elif key in self._seen:
            run_id = self._seen.pop(key)
            failed = None if error is None else (message(error), stack_trace(error))
            self._worker.do("an RDD's end", lambda: self._end_seen(run_id, failed))

    def _end_seen(self, run_id: str, failed: tuple[str, str] | None) -> None:
        if failed is None:
            self._runs.end(run_id, EventType.COMPLETE)
        else:
            event_type = EventType.ABORT if CONTEXT_ENDED in failed[0] else EventType.FAIL
            self._runs.end(run_id, event_type, *failed)

    def _begin(self, run: RunName, rdd: Java, place: str, at: datetime) -> None:
        """Report a save; one inside foreachBatch is an output of the streaming query itself."""
        found: list[Described] = []
        if place:
            self._barrier.run("an RDD", lambda: found.append(self._extractor.rdd(rdd, place)))
        run_ids = frozenset[str]().union(*(described.runs for described in found))
        if not run_ids:
            job_type = facets.job_type("BATCH", "RDD_JOB")
            self._runs.start(run, job_type, parent=self._parent, at=at)
        for described in found:
            for run_id in run_ids or {run.run_id}:
                self._runs.describe(
                    run_id, described.inputs(), described.outputs(), described.notes()
                )


def _place(function: Java) -> str:
    """Where a function of Hadoop's writers writes: it holds on to what commits its files."""
    for field in function.getClass().getDeclaredFields():
        field.setAccessible(True)
        held = field.get(function)
        if hasattr(held, "getClass") and class_name(held).endswith("CommitProtocol"):
            return str(private_field(held, "path") or "")
    return ""
