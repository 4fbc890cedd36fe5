"""Capture in a classic session: Spark's own listeners, and the plans in the driver's JVM."""

import sys
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.capture import facets
from headwater.capture.child_jobs import ChildJobs
from headwater.capture.connect.clients import SERVERS, Clients
from headwater.capture.datasets.registries import Registries
from headwater.capture.datasets.registry import Registry
from headwater.capture.datasets.trimming import enabled_trimmers
from headwater.capture.driver import SIGNAL_SECONDS, Driver
from headwater.capture.endings import Endings
from headwater.capture.events import RunName, snake
from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.jvm.listeners import (
    load,
    register,
    register_for_checkpoints,
    seen_by_listeners,
)
from headwater.capture.plan.reader import Ids
from headwater.capture.restarts import Restarts
from headwater.capture.settings import Settings
from headwater.capture.spark.batches import Batches
from headwater.capture.spark.described import Described
from headwater.capture.spark.executions import Executions
from headwater.capture.spark.extract import Extractor
from headwater.capture.spark.handovers import Handovers
from headwater.capture.spark.hooks import Hooks
from headwater.capture.spark.jvm import Java, call
from headwater.capture.spark.listeners import ActionListener
from headwater.capture.spark.observer import GuardedObserver
from headwater.capture.spark.plans import PlanWriter
from headwater.capture.spark.rdds import RddSaves
from headwater.capture.spark.seen import Seen
from headwater.capture.spark.sessions import SessionSettings
from headwater.capture.spark.streams import Streams
from headwater.capture.worker import Worker
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.names import JobName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# How long the end of a query waits for what Spark still has to tell of its writes.
_TOLD_SECONDS = 1.0
# How long the end of an application waits until all that happened is understood: nobody can do
# that later. It takes as long only where the machine is overloaded, or a catalog hangs.
_SETTLED_SECONDS = 20.0
# Exit codes of a JVM that was asked to end: by SIGHUP, SIGINT, SIGTERM.
_BY_SIGNAL = 128  # exit codes from here on are signals
_ENDED_BY_SOMEONE = frozenset({129, 130, 143, -1, -2, -15})
# Captures whose context was stopped: the next application of the process ends theirs.
_stopped: list["Capture"] = []


class Capture:
    """One observed Spark application."""

    def __init__(
        self,
        spark: "SparkSession",
        settings: Settings,
        ended: Callable[[], object],
        *,
        main_class: str = "",
    ) -> None:
        for previous in [*_stopped]:
            previous.succeeded()
        self._settings, self._ended = settings, ended
        self._under_way: BaseException | None = None
        self._jvm_is_driver = bool(main_class)  # which runs the application's main class
        self._barrier = FaultBarrier()
        self._finished = threading.Lock()
        self._ready = threading.Event()
        session: Any = spark._jsparkSession
        context = spark.sparkContext
        name = snake(context.appName or "spark")
        self._driver = Driver(settings, name, str(session.version()), self._finish)
        self._runs, application = self._driver.runs, self._driver.run
        usual = None
        if settings.registry_url:
            usual = Registry(settings.registry_url, settings.registry_auth)
        self._registries = Registries(usual)
        trimmers = enabled_trimmers(settings.disabled_trimmers)
        handovers = Handovers(context._jvm, sees_rdds=not main_class)
        extractor = Extractor(
            session,
            self._registries,
            trimmers,
            handovers,
            self._handing_over,
            PlanWriter(context._jvm, self._classes()),
        )
        # Threads that last: each thread that talks to the JVM costs a connection for good.
        self._worker = Worker(self._barrier, "headwater-capture", self._tick)
        self._planner = Worker(self._barrier, "headwater-plans")
        self._pulse = Worker(self._barrier, "headwater-heartbeats", self._beat)
        restarts = Restarts(Path(settings.spool_dir).with_name("queries"))
        self._child_jobs = ChildJobs(spark, self._runs, application)
        self._clients: Clients | None = None
        if main_class.startswith(SERVERS):
            self._clients = Clients.of_server(
                context._jvm, self._runs, application, str(context.appName)
            )
        self._session_settings = SessionSettings(session, context._jvm)
        if main_class:
            self._session_settings.unfollow()
        self._streams = Streams(
            self._runs,
            extractor,
            self._planner,
            application,
            restarts,
            self._session_settings,
            self._client_of_query,
        )
        executions = Executions(session, context._jvm)
        self._batches = Batches(
            session, self._runs, extractor, self._parent_of, executions, self._session_settings
        )
        self._saves = RddSaves(self._runs, extractor, self._worker, application)
        observer = GuardedObserver(
            self._barrier,
            self._streams,
            handovers,
            self._saves,
            self._session_settings,
            on_cut=lambda: self._worker.do("a cut plan", extractor.settle),
            on_query_over=self._query_over,
            on_session=self._session_made,
        )
        action = ActionListener(self._batches, self._worker)
        java_context = session.sparkContext()
        queue = seen_by_listeners(context._jvm, java_context)
        self._hooks = Hooks(
            spark, action, observer, on_stop=self._context_stopping, listens=queue is None
        )
        self._jvm, self._java_context = context._jvm, java_context
        self._take_action, self._observer = action, observer
        self._listening: dict[str, Java] = {}
        self._seen: Seen | None = None
        if queue is not None:
            self._watch(queue)
        self._endings = Endings(self._driver)
        self._asked_at = time.monotonic()
        self._ready.set()

    def detach(self) -> None:
        """Stop observing; runs that are under way are reported as ABORT."""
        self._finish(EventType.COMPLETE, "capture was detached")

    def fail(self, error: BaseException) -> None:
        """Note the error that ends the application; it is reported when the application ends."""
        self._driver.failed(error)

    def end(self) -> None:
        """Report the end of the application, and everything that it leaves running as ABORT."""
        self._driver.over()

    def succeeded(self) -> None:
        """Another application of this process begins; this one's context was stopped before."""
        _stopped.remove(self)
        self._endings.remove()
        self._driver.failed(self._under_way)
        # Its last events may take a while to be sent: the next application does not wait.
        threading.Thread(target=self._driver.over, name="headwater-end").start()

    def settle(self) -> None:
        """Wait until everything is reported that has happened by now."""
        if not self._finished.locked():
            self._settle()

    def listen_in(self, session: Java) -> None:
        """Observe another session of the JVM, that was made for a client of Spark Connect."""
        identity = str(session.sessionUUID())
        if identity in self._listening:
            return
        queue = load(self._jvm, self._classes())
        if self._seen is None:
            self._watch(queue)
            register_for_checkpoints(self._jvm, self._java_context)
        self._listening[identity] = register(self._jvm, session)
        self._session_settings.unfollow()  # clients set them through Spark Connect

    def _classes(self) -> Path:
        return Path(self._settings.spool_dir).with_name("classes")

    def _client_of(self, session: Java) -> RunName | None:
        return self._clients.run_of(session) if self._clients is not None else None

    def _handing_over(self, session: Java) -> dict[Ids, Described]:
        return self._streams.handing_over(session)

    def _client_of_query(self, query: Java) -> RunName | None:
        return self._client_of(call(query, "sparkSession")) if self._clients is not None else None

    def _parent_of(self, session: Java) -> RunName:
        return self._client_of(session) or self._child_jobs.parent_of(session)

    def _watch(self, queue: Java) -> None:
        self._seen = Seen(
            self._jvm,
            self._java_context,
            queue,
            self._barrier,
            self._take_action,
            self._observer.query_started,
            self._saves,
            self._observer.checkpoint_seen,
        )

    def part(self, name: str) -> AbstractContextManager["SparkSession"]:
        """A session whose batch actions are told as those of a job inside this application."""
        return self._child_jobs.open(name, self._settle)

    def could_not_start(self, name: str, error: BaseException) -> None:
        """Report a streaming job that failed before its query existed."""
        job = JobName(self._driver.run.job.namespace, name)
        run = RunName(str(uuid.uuid4()), job)
        kind = facets.job_type("STREAMING", "QUERY", emission="PERIODIC")

        def report() -> None:
            self._runs.start(run, kind, parent=self._driver.run)
            self._runs.fail(run.run_id, error)

        self._barrier.run("a query that could not start", report)

    def _finish(self, event_type: EventType, reason: str, *, settle: bool = True) -> None:
        if not self._finished.acquire(blocking=False):
            return
        if self in _stopped:
            _stopped.remove(self)
        self._notice_dead_jvm()
        if settle:
            # The last actions may still be on their way from Spark's listener bus.
            self._settle()
        self._driver.abort_children(reason)
        self._driver.end(event_type, reason)
        self._worker.close()
        self._planner.close()
        self._pulse.close()
        if self._seen is not None:
            self._seen.close()
        self._hooks.remove()
        self._endings.remove()
        self._driver.emitter.close()
        self._ended()

    def _query_over(self, run_id: str) -> None:
        if not self._streams.over(run_id):
            self._worker.do("a look", self._look)

    def _session_made(self, session: Java, origin: Java) -> None:
        self._hooks.listen(session)
        self._child_jobs.session_made(session, origin)

    def _look(self) -> None:
        """See which queries are over; what Spark has told of their writes goes before that."""
        over = self._streams.look()
        if over:
            self._hear(_TOLD_SECONDS)
        for run_id in over:
            self._worker.do("a query's end", partial(self._streams.ended, run_id))

    def _context_stopping(self) -> None:
        """`spark.stop()`: queries that live get no word from Spark, so they get it from here."""
        self._under_way = _failure(sys.exc_info()[1])
        deadline = self._settle()
        self._runs.stopping(SIGNAL_SECONDS)
        self._driver.abort_children("the Spark context was stopped while the query was running")
        # The next context has a capture of its own: nothing may be reported twice.
        self._hooks.remove()
        self._drain(deadline)  # nobody is in the midst of a question to a context that is gone
        if not self._finished.locked():
            _stopped.append(self)

    def _settle(self) -> float:
        """Wait until what Spark has told of its actions is told on; give the deadline."""
        deadline = self._hear(max(_SETTLED_SECONDS, self._settings.flush_seconds))
        self._worker.do("a last look", self._look)
        self._drain(deadline)
        return deadline

    def _hear(self, seconds: float) -> float:
        """Wait until listeners have been told what has happened by now; give the deadline."""
        deadline = time.monotonic() + seconds
        self._hooks.drain(seconds)
        if self._seen is not None:
            self._seen.drain(deadline - time.monotonic())
        return deadline

    def _drain(self, deadline: float) -> None:
        """Wait for what capture's threads have to do; queries end with the datasets of plans."""
        for worker in (self._planner, self._worker):
            worker.do("a pause", bool)  # so that a tick that goes on is waited for, too
            worker.drain(deadline - time.monotonic())

    def _tick(self) -> None:
        if not self._ready.is_set():
            return
        self._notice_dead_jvm()
        # The JVM outlives a context: what runs in it may be the next one's.
        if self._hooks.is_installed and self._hooks.jvm_exit_code() is None:
            self._barrier.run("a look", self._look)
            self._barrier.run("writes under way", self._batches.poll)
            if self._clients is not None:
                self._barrier.run("clients", self._clients.poll)
        if self._registries and self._registry_is_due():
            self._streams.refresh()

    def _beat(self) -> None:
        """Send heartbeats: a table or a query that keeps the other threads waiting stops none."""
        if self._ready.is_set():
            self._notice_dead_jvm()
            self._runs.beat()

    def _registry_is_due(self) -> bool:
        now = time.monotonic()
        due = now - self._asked_at >= self._settings.registry_seconds
        self._asked_at = now if due else self._asked_at
        return due

    def _notice_dead_jvm(self) -> None:
        code = self._hooks.jvm_exit_code()
        if code is None:
            return
        if self._jvm_is_driver and 0 <= code < _BY_SIGNAL:
            self._application_exited(code)
            return
        # A notebook's kernel that is shut down takes its JVM along by SIGTERM.
        event_type = EventType.ABORT if code in _ENDED_BY_SOMEONE else EventType.FAIL
        reason = f"the driver's JVM ended with code {code}"
        for run in self._runs.living():
            self._runs.end(run.run_id, event_type, reason)

    def _application_exited(self, code: int) -> None:
        """The application has ended its JVM itself, by `System.exit`."""
        self._driver.abort_children("the driver ended while the query was running")
        event_type = EventType.FAIL if code else EventType.COMPLETE
        self._driver.end(event_type, f"the driver's JVM ended with code {code}")


def _failure(error: BaseException | None) -> BaseException | None:
    """An error that is under way, unless it is none, as an exit with code 0 is."""
    is_success = isinstance(error, SystemExit) and error.code in (None, 0)
    return None if is_success or isinstance(error, GeneratorExit) else error
