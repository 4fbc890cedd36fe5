"""Follows streaming queries from their start, and tells the life of their runs.

Queries are asked how far they are. A listener would be called inside each query's own thread when
it starts, and every such thread keeps a connection to Python open, and a thread here, for good: a
driver that starts many queries would come to an end of both.
"""

import json
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.capture import facets
from headwater.capture.events import RunName
from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.plan.reader import Ids
from headwater.capture.progress import Commit
from headwater.capture.restarts import Restarts
from headwater.capture.runs import Runs
from headwater.capture.spark.commits import Commits
from headwater.capture.spark.described import Described
from headwater.capture.spark.extract import Extractor
from headwater.capture.spark.jvm import Java, call, class_name, option
from headwater.capture.spark.sessions import SessionSettings
from headwater.capture.spark.snapshots import Snapshot, Snapshots
from headwater.capture.worker import Worker
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.names import JobName

_INITIALIZATION_MS = 10_000
# How long the end of a query waits for the reading of its plan.
_DESCRIBED_SECONDS = 15.0
# How long a table is left alone that could not be read: to fail may take it a while.
_UNREADABLE_SECONDS = 60.0
# How a query of ours fails that is started again at once, by those who run it.
NEW_SCHEMA = "headwater: unknown schema id "
NEW_SCHEMA_ID = re.compile(rf"{NEW_SCHEMA}(\d+)")
_RESTART_SECONDS = 60.0
_BOUNDED = frozenset({"OneTimeTrigger", "AvailableNowTrigger"})
_FUNCTION_SINKS = frozenset({"ForeachBatchSink"})


def needs_schema(error: str) -> bool:
    """Whether a query failed by a schema it did not know; the plan in an error has no id."""
    return NEW_SCHEMA_ID.search(error) is not None


class Awaited(NamedTuple):
    """A run whose query has met a schema it did not know, and is to be started again with it."""

    run: RunName
    until: float
    reason: str
    text: str


class Stream:
    """One start of one streaming query."""

    def __init__(self, run: RunName, query: Java) -> None:
        self.run, self.query = run, query
        self.query_id = str(query.id().toString())
        self.execution = execution = call(query, "streamingQuery") or query
        self.heard = ""  # the moment of the last report that was read
        self.hearing = threading.Lock()
        self.described: Described | None = None
        self.reading, self.settled = threading.Lock(), threading.Event()
        self.snapshots: Snapshots | None = None
        self.commits = Commits(execution)
        self._readable_at = 0.0
        self.hands_over = class_name(execution.sink()) in _FUNCTION_SINKS
        self._session = call(execution, "sparkSessionForStream")

    def new_snapshots(self) -> list[Snapshot]:
        """Snapshots that the query committed; a table that cannot be read is left for a while."""
        now = time.monotonic()
        if self.snapshots is None or now < self._readable_at:
            return []
        self._readable_at = now + _UNREADABLE_SECONDS
        found = self.snapshots.new()
        self._readable_at = 0.0
        return found

    def runs_in(self, session: Java) -> bool:
        """Whether a session is the one that Spark made for this query alone."""
        return bool(session is not None and session.equals(self._session))


class Streams:
    """Every streaming query of a session that is running."""

    def __init__(
        self,
        runs: Runs,
        extractor: Extractor,
        planner: Worker,
        parent: RunName,
        restarts: Restarts,
        settings: SessionSettings,
        client_of: Callable[[Java], RunName | None] = lambda _: None,
    ) -> None:
        self._restarts, self._client_of, self._settings = restarts, client_of, settings
        self._barrier = FaultBarrier()
        self._runs, self._extractor, self._parent = runs, extractor, parent
        self._planner = planner
        self._streams: dict[str, Stream] = {}
        self._stopped: set[str] = set()
        self._awaited: dict[str, Awaited] = {}

    def started(self, query: Java) -> None:
        """A query has started; called where `start()` was, so only what is quick happens here."""
        run_id, query_id = str(query.runId().toString()), str(query.id().toString())
        if run_id in self._streams:
            return
        parent = self._client_of(query) or self._parent
        name = query.name() or f"{parent.job.name}.{query_id[:8]}"
        run = self._continued(query_id)
        if run is None:
            run = RunName(run_id, JobName(parent.job.namespace, str(name)))
            more = self._settings.facet(call(query, "sparkSession"))
            more["headwater_query"] = self._restarts.facet(query_id, run_id)
            kind = facets.job_type("STREAMING", "QUERY", emission="PERIODIC")
            self._runs.start(run, kind, parent=parent, more=more)
        stream = self._streams[run_id] = Stream(run, query)
        self._planner.do("a streaming plan", lambda: self._describe(stream))

    def look(self) -> list[str]:
        """Ask every query how far it is; give the runs of those that are over."""
        over: list[str] = []
        self._give_up_waiting()
        for run_id, stream in list(self._streams.items()):
            self._barrier.run("a query", partial(self._look_at, run_id, stream, over))
        return over

    def _look_at(self, run_id: str, stream: Stream, over: list[str]) -> None:
        is_active = stream.query.isActive()
        self._barrier.run("a query's progress", partial(self._hear, stream))
        if not is_active:
            over.append(run_id)

    def over(self, run_id: str) -> bool:
        """Someone has waited for a query's end: note it before they go on, if that is quick."""
        stream = self._streams.get(run_id)
        if stream is None or stream.query.isActive():
            return True
        if stream.hands_over or not stream.settled.is_set():
            return False
        self.ended(run_id)
        return True

    def ended(self, run_id: str) -> None:
        """A query is over; its last word may wait a little for its plan to be read."""
        stream = self._streams.get(run_id)
        if stream is None:
            return
        error = option(stream.query.exception())
        event_type = EventType.FAIL if error is not None else self._peaceful_end(run_id, stream)
        if error is not None and _context_is_stopped(stream):
            event_type = EventType.ABORT
        stream.settled.wait(_DESCRIBED_SECONDS)
        self._barrier.run("a query's last commits", partial(self._hear, stream, is_last=True))
        text = str(error.toString()) if error is not None else None
        reason = _reason(text) if text is not None else None
        if self._streams.pop(run_id, None) is None:
            return  # it has been started again meanwhile
        self._stopped.discard(run_id)
        if text is not None and needs_schema(text):
            until = time.monotonic() + _RESTART_SECONDS
            self._awaited[stream.query_id] = Awaited(stream.run, until, reason or "", text)
            return
        self._runs.end(
            stream.run.run_id, event_type, reason, text[:8_000] if text is not None else None
        )

    def _continued(self, query_id: str) -> RunName | None:
        """The run that a query goes on with which has ended only to learn a new schema."""
        awaited = self._awaited.pop(query_id, None)
        if awaited is not None:
            return awaited.run
        for run_id, stream in list(self._streams.items()):
            if stream.query_id == query_id and not stream.query.isActive():
                error = option(stream.query.exception())
                if error is not None and needs_schema(str(error.toString())):
                    self._hear(stream)
                    self._streams.pop(run_id, None)
                    return stream.run
        return None

    def _give_up_waiting(self) -> None:
        for query_id, awaited in list(self._awaited.items()):
            late = time.monotonic() > awaited.until
            if late and self._awaited.pop(query_id, None) is not None:
                run_id, text = awaited.run.run_id, awaited.text[:8_000]
                self._runs.end(run_id, EventType.FAIL, awaited.reason, text)

    def _hear(self, stream: Stream, *, is_last: bool = False) -> None:
        with stream.hearing:
            self._take_in(stream, is_last)

    def _take_in(self, stream: Stream, is_last: bool) -> None:
        """Take in the reports that are new; a few micro-batches have ended since the last look."""
        new = []
        for report in reversed(stream.query.recentProgress()):
            at = str(report.timestamp())
            if at <= stream.heard:
                break
            new.append(report)
        if not new and not is_last:
            return
        stream.heard = str(new[0].timestamp()) if new else stream.heard
        reports = [json.loads(str(report.json())) for report in reversed(new)]
        snapshots: list[Snapshot] = []
        self._barrier.run("a table's snapshots", lambda: snapshots.extend(stream.new_snapshots()))
        commits: list[Commit] = []
        self._barrier.run(
            "a query's commits",
            lambda: commits.extend(stream.commits.new(reports, snapshots, is_last=is_last)),
        )
        self._runs.progressed(stream.run.run_id, stream.query_id, reports, commits)
        if stream.settled.is_set() and not _planned(stream):
            self._tell(stream, planned=True)

    def stopping(self, run_id: str) -> None:
        """Someone asked a query to stop."""
        self._stopped.add(run_id)

    def refresh(self) -> None:
        """Ask again for the schemas of topics: a new one is a new version of the dataset."""
        for stream in list(self._streams.values()):
            if stream.settled.is_set():
                self._planner.do("a topic's schema", partial(self._refresh, stream))

    def handing_over(self, session: Java) -> dict[Ids, Described]:
        """The queries whose micro-batch a session may read, by their output's ids."""
        return {
            stream.described.lineage.ids: replace(
                stream.described, runs=frozenset({stream.run.run_id})
            )
            for stream in self._handing_over(session)
            if stream.described is not None
        }

    def _handing_over(self, session: Java) -> list[Stream]:
        """Queries over one frame have the same ids; their sessions tell them apart."""
        streams = [stream for stream in list(self._streams.values()) if stream.hands_over]
        own = [stream for stream in streams if stream.runs_in(session)]
        for stream in own:
            self._barrier.run("a streaming plan", partial(self._read, stream))
        return own or streams

    def _peaceful_end(self, run_id: str, stream: Stream) -> EventType:
        bounded = class_name(stream.execution.trigger()) in _BOUNDED
        return EventType.COMPLETE if bounded and run_id not in self._stopped else EventType.ABORT

    def _describe(self, stream: Stream) -> None:
        try:
            self._extractor.settle()
            self._read(stream)
            _await_initialization(stream.execution)
            self._tell(stream, planned=_has_plan(stream))
        finally:
            stream.settled.set()

    def _read(self, stream: Stream) -> None:
        """Read a query's plan, unless that is done; a write inside foreachBatch may come first."""
        with stream.reading:
            if stream.described is None:
                self._tell(stream, planned=False, tell=False)

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
        if planned and stream.snapshots is None:
            stream.snapshots = Snapshots.of(stream.execution, stream.query_id)

    def _describe_run(self, stream: Stream, described: Described, *, tell: bool = True) -> None:
        self._runs.describe(
            stream.run.run_id,
            described.inputs(),
            described.outputs(),
            described.notes(),
            tell=tell,
        )


def _await_initialization(execution: Java) -> None:
    try:
        execution.awaitInitialization(_INITIALIZATION_MS)
    except (Py4JError, PySparkException):
        return  # it has failed already, but what it was to read and write can be told


def _context_is_stopped(stream: Stream) -> bool:
    return bool(call(stream.execution, "sparkSession", "sparkContext", "isStopped"))


def _has_plan(stream: Stream) -> bool:
    """Whether a query has made its plan, or never will: before, its table has no name."""
    return call(stream.execution, "logicalPlan") is not None or not stream.query.isActive()


def _planned(stream: Stream) -> bool:
    described = stream.described
    return described is not None and (described.output is not None or stream.hands_over)


def _reason(text: str) -> str:
    """The part of Spark's message that says what happened, without plans and traces."""
    for marker in ("\n=== Streaming Query ===", "\n\tat ", "\nat ", "\n\nDriver stacktrace"):
        text = text.partition(marker)[0]
    return text.strip()[:2_000]
