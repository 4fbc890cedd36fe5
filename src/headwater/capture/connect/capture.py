"""Observes a session of Spark Connect by the commands that its client sends."""

import logging
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from headwater.capture import facets
from headwater.capture.connect.commands import (
    Message,
    Write,
    batch_of,
    is_bounded,
    stopped_by,
    stream_of,
)
from headwater.capture.connect.queries import Queries, Query
from headwater.capture.datasets.trimming import enabled_trimmers
from headwater.capture.driver import Driver
from headwater.capture.endings import Endings
from headwater.capture.events import RunName, snake, tail
from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.restarts import Restarts
from headwater.capture.settings import Settings
from headwater.capture.worker import Worker
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.names import JobName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("headwater.capture")

_TOLD = (
    "headwater: this is a Spark Connect session. The application, its streaming queries with their "
    "progress, its batch writes, and the files and topics that they name are captured. Columns, "
    "tables of catalogs and SQL commands are known to the Connect server only: to have them, "
    "start the server with `headwater submit`, or put OpenLineage's listener into it."
)
_STOPPED = "the Spark Connect session was closed while the query was running"


class ConnectCapture:
    """One observed client of Spark Connect."""

    def __init__(
        self, spark: "SparkSession", settings: Settings, ended: Callable[[], object]
    ) -> None:
        log.warning(_TOLD)
        self._spark = cast("Any", spark)
        self._settings, self._ended = settings, ended
        self._trimmers = enabled_trimmers(settings.disabled_trimmers)
        self._barrier = FaultBarrier()
        self._finished = threading.Lock()
        name = snake(Path(sys.argv[0]).stem) or "spark"
        self._driver = Driver(settings, name, str(spark.version), self._finish)
        self._runs = self._driver.runs
        self._queries = Queries(self._runs, settings.heartbeat_seconds)
        self._restarts = Restarts(Path(settings.spool_dir).with_name("queries"))
        self._worker = Worker(self._barrier, "headwater-connect", self._tick)
        client = self._spark.client
        self._execute, self._stop = client.execute_command, self._spark.stop
        client.execute_command, self._spark.stop = self._executing, self._stopping
        self._endings = Endings(self._driver)

    def detach(self) -> None:
        """Stop observing; runs that are under way are reported as ABORT."""
        self._finish(EventType.COMPLETE, "capture was detached")

    def _tick(self) -> None:
        self._queries.look()  # while the server does not answer there are no heartbeats
        self._runs.beat()

    def _executing(self, command: Message, *arguments: Any, **more: Any) -> Any:
        """What stands for the client's `execute_command`."""
        batch: list[RunName] = []
        self._barrier.run("a command", lambda: batch.extend(self._before(command)))
        try:
            answer = self._execute(command, *arguments, **more)
        except BaseException as error:
            for run in batch:
                self._runs.fail(run.run_id, error)
            raise
        for run in batch:
            self._runs.end(run.run_id, EventType.COMPLETE)
        write = stream_of(command)
        if write is not None:
            self._barrier.run(
                "a query's start",
                lambda: self._started(command, write.trimmed(self._trimmers), answer),
            )
        return answer

    def _before(self, command: Message) -> list[RunName]:
        stopped = stopped_by(command)
        if stopped is not None:
            self._queries.stopping(stopped)
        write = batch_of(command)
        if write is None:
            return []
        write = write.trimmed(self._trimmers)
        run = self._run(str(uuid.uuid4()), f"write.{tail(write.target)}")
        self._start(run, write, facets.job_type("BATCH", "SQL_JOB"))
        return [run]

    def _started(self, command: Message, write: Write, answer: Any) -> None:
        from pyspark.sql.connect.streaming.query import StreamingQuery  # noqa: PLC0415

        told = answer[1]["write_stream_operation_start_result"]
        query_id, run_id = str(told.query_id.id), str(told.query_id.run_id)
        run = self._run(run_id, query_id[:8])
        if told.name:
            run = RunName(run_id, JobName(run.job.namespace, str(told.name)))
        query = self._restarts.facet(query_id, run_id)
        kind = facets.job_type("STREAMING", "QUERY", emission="PERIODIC")
        self._start(run, write, kind, headwater_query=query)
        handle = StreamingQuery(self._spark, query_id, run_id, told.name or None)
        self._queries.add(run_id, Query(handle, is_bounded=is_bounded(command)))

    def _run(self, run_id: str, tail: str) -> RunName:
        job = self._driver.run.job
        return RunName(run_id, JobName(job.namespace, f"{job.name}.{tail}"))

    def _start(self, run: RunName, write: Write, kind: dict[str, Any], **more: Any) -> None:
        notes = [{"kind": "unknown", "name": f"table {t}", "columns": []} for t in write.tables]
        notes.append({"kind": "unknown", "name": "a plan in a Connect server", "columns": ["*"]})
        found = {"headwater_capture": facets.own_facet("capture", notes=notes), **more}
        self._runs.start(run, kind, parent=self._driver.run, more=found)
        self._runs.describe(
            run.run_id,
            [facets.input_json(one) for one in write.inputs],
            [facets.output_json(one) for one in write.outputs],
        )

    def _stopping(self) -> None:
        """What stands for the session's `stop`: its queries end with it."""
        self._settle()
        self._driver.abort_children(_STOPPED)
        self._stop()

    def _settle(self) -> None:
        """See what has ended since the last look; a server that is gone is not waited for long."""
        self._worker.do("a last look", self._queries.look_now)
        self._worker.drain(self._settings.flush_seconds)

    def _finish(self, event_type: EventType, reason: str, *, settle: bool = True) -> None:
        if not self._finished.acquire(blocking=False):
            return
        if settle:
            self._settle()
        self._driver.abort_children(reason)
        self._driver.end(event_type, reason)
        self._worker.close()
        self._spark.client.__dict__.pop("execute_command", None)
        self._spark.__dict__.pop("stop", None)
        self._endings.remove()
        self._driver.emitter.close()
        self._ended()
