"""Follows streaming queries: Spark's listener events in, the life of their runs out."""

import json
import threading
from functools import partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.capture import facets
from headwater.capture.events import JobName, Moment, RunName
from headwater.capture.plan.reader import Ids
from headwater.capture.restarts import Restarts
from headwater.capture.runs import Runs
from headwater.capture.spark.extract import Described, Extractor
from headwater.capture.spark.jvm import Java, call, class_name, option
from headwater.capture.spark.snapshots import Snapshots
from headwater.capture.worker import Worker

_INITIALIZATION_MS = 10_000
# How long the end of a query waits for the reading of its plan.
_DESCRIBED_SECONDS = 15.0
_BOUNDED = frozenset({"OneTimeTrigger", "AvailableNowTrigger"})
_FUNCTION_SINKS = frozenset({"ForeachBatchSink"})


class Stream:
    """One start of one streaming query."""

    def __init__(self, run: RunName, query_id: str, execution: Java) -> None:
        self.run, self.query_id, self.execution = run, query_id, execution
        self.described: Described | None = None
        self.settled = threading.Event()
        self.snapshots: Snapshots | None = None
        self.hands_over = class_name(execution.sink()) in _FUNCTION_SINKS
        self._session = call(execution, "sparkSessionForStream")

    def runs_in(self, session: Java) -> bool:
        """Whether a session is the one that Spark made for this query alone."""
        return bool(session is not None and session.equals(self._session))


class Streams:
    """Every streaming query of a session that is running."""

    def __init__(
        self,
        session: Java,
        runs: Runs,
        extractor: Extractor,
        planner: Worker,
        parent: RunName,
        restarts: Restarts,
    ) -> None:
        self._manager = session.streams()
        self._restarts = restarts
        self._runs, self._extractor, self._parent = runs, extractor, parent
        self._planner = planner
        self._version = str(session.version())
        self._streams: dict[str, Stream] = {}
        self._stopped: set[str] = set()

    def started(self, event: Java) -> None:
        """A query starts; called inside `start()`, so only what is quick happens here."""
        run_id, query_id = str(event.runId().toString()), str(event.id().toString())
        name = event.name() or f"{self._parent.job.name}.{query_id[:8]}"
        run = RunName(run_id, JobName(self._parent.job.namespace, str(name)))
        self._runs.start(
            run,
            job_facets={
                "jobType": facets.job_type("STREAMING", "QUERY", emission="PERIODIC"),
            },
            run_facets={
                "parent": facets.parent(self._parent),
                "processing_engine": facets.processing_engine(self._version),
                "headwater_query": self._restarts.facet(query_id, run_id),
            },
        )
        query = self._manager.get(query_id)
        execution = call(query, "streamingQuery") or query
        stream = self._streams[run_id] = Stream(run, query_id, execution)
        self._planner.do("a streaming plan", lambda: self._describe(stream))

    def progressed(self, event: Java) -> None:
        """A micro-batch is done."""
        report: dict[str, Any] = json.loads(str(event.progress().json()))
        run_id = str(report["runId"])
        stream = self._streams.get(run_id)
        committed = stream.snapshots.new() if stream and stream.snapshots else []
        self._runs.progressed(run_id, report, committed)
        if stream is not None and stream.settled.is_set() and not _planned(stream):
            self._tell(stream, planned=True)

    def terminated(self, event: Java) -> None:
        """A query is over; its last word may wait a little for its plan to be read."""
        run_id = str(event.runId().toString())
        error = option(event.exception())
        stream = self._streams.get(run_id)
        moment = Moment.FAIL if error is not None else self._peaceful_end(run_id, stream)
        if stream is not None:
            stream.settled.wait(_DESCRIBED_SECONDS)
        reason = _reason(str(error)) if error is not None else None
        self._runs.end(run_id, moment, reason, str(error)[:8_000] if error is not None else None)
        self._streams.pop(run_id, None)
        self._stopped.discard(run_id)

    def stopping(self, run_id: str) -> None:
        """Someone asked a query to stop."""
        self._stopped.add(run_id)

    def refresh(self) -> None:
        """Ask again for the schemas of topics: a new one is a new version of the dataset."""
        for stream in list(self._streams.values()):
            if stream.settled.is_set():
                self._planner.do("a topic's schema", partial(self._refresh, stream))

    def handing_over(self, session: Java) -> dict[Ids, Described]:
        """The queries whose micro-batch a session may write, by their output's ids."""
        return {
            stream.described.lineage.ids: stream.described
            for stream in self._handing_over(session)
            if stream.described is not None
        }

    def run_of(self, ids: Ids, session: Java) -> str | None:
        """The run of the query whose output has these ids."""
        for stream in self._handing_over(session):
            if stream.described is not None and stream.described.lineage.ids == ids:
                return stream.run.run_id
        return None

    def _handing_over(self, session: Java) -> list[Stream]:
        """Queries over one frame have the same ids; their sessions tell them apart."""
        streams = [stream for stream in list(self._streams.values()) if stream.hands_over]
        return [stream for stream in streams if stream.runs_in(session)] or streams

    def _peaceful_end(self, run_id: str, stream: Stream | None) -> Moment:
        bounded = stream is not None and class_name(stream.execution.trigger()) in _BOUNDED
        return Moment.COMPLETE if bounded and run_id not in self._stopped else Moment.ABORT

    def _describe(self, stream: Stream) -> None:
        try:
            self._tell(stream, planned=False, tell=False)
            _await_initialization(stream.execution)
            self._tell(stream, planned=True)
        finally:
            stream.settled.set()

    def _refresh(self, stream: Stream) -> None:
        described = stream.described
        if described is not None:
            stream.described = self._extractor.refreshed(described)
            self._describe_run(stream, stream.described)

    def _tell(self, stream: Stream, *, planned: bool, tell: bool = True) -> None:
        known = stream.described
        described = self._extractor.stream(stream.execution, planned=planned, known=known)
        stream.described = described
        self._describe_run(stream, described, tell=tell)
        if planned:
            stream.snapshots = Snapshots.of(stream.execution, stream.query_id)

    def _describe_run(self, stream: Stream, described: Described, *, tell: bool = True) -> None:
        notes = described.notes()
        self._runs.describe(
            stream.run.run_id,
            described.inputs(),
            described.outputs(),
            {"headwater_capture": notes} if notes else None,
            tell=tell,
        )


def _await_initialization(execution: Java) -> None:
    try:
        execution.awaitInitialization(_INITIALIZATION_MS)
    except (Py4JError, PySparkException):
        return  # it has failed already, but what it was to read and write can be told


def _planned(stream: Stream) -> bool:
    described = stream.described
    return described is not None and (described.output is not None or stream.hands_over)


def _reason(text: str) -> str:
    """The part of Spark's message that says what happened, without plans and traces."""
    for marker in ("\n=== Streaming Query ===", "\n\tat ", "\nat ", "\n\nDriver stacktrace"):
        text = text.partition(marker)[0]
    return text.strip()[:2_000]
