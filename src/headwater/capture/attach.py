"""`headwater.attach`: from here on, everything that a Spark session does is observed."""

import logging
import os
import threading
import time
import traceback
import uuid
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.capture import facets
from headwater.capture.datasets.registries import Registries
from headwater.capture.datasets.registry import Registry
from headwater.capture.emitter import Emitter
from headwater.capture.endings import Endings
from headwater.capture.events import JobName, Moment, RunName
from headwater.capture.guard import Guard
from headwater.capture.parts import Parts
from headwater.capture.restarts import Restarts
from headwater.capture.runs import Runs
from headwater.capture.settings import PREFIX, Settings, read_settings
from headwater.capture.spark.batches import Batches, snake
from headwater.capture.spark.executions import Executions
from headwater.capture.spark.extract import Extractor
from headwater.capture.spark.hooks import Hooks
from headwater.capture.spark.listeners import ActionListener, StreamingListener
from headwater.capture.spark.streams import Streams
from headwater.capture.worker import Worker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("headwater.capture")

_CONNECT = (
    "headwater: this is a Spark Connect session. Its plans are in the server, where capture "
    "cannot read them, so nothing is captured here. Attach in a classic session, or put "
    "OpenLineage's listener into the Connect server."
)

_attached: dict[int, "Capture"] = {}
_lock = threading.Lock()
_guard = Guard()
# A signal that the driver outlives by this much did not end it.
_SIGNAL_SECONDS = 30.0


class Detached:
    """Stands for a capture that observes nothing."""

    def detach(self) -> None:
        """Do nothing."""


def attach(spark: "SparkSession", **arguments: Any) -> "Capture | Detached":
    """Observe a Spark session; settings not given come from Spark's conf and the environment.

    Attaching twice to one Spark context is the same as attaching once.

    Raises:
        BadSetting: a setting that cannot be used.

    """
    if not hasattr(spark, "_jsparkSession"):
        log.warning(_CONNECT)
        return Detached()
    context = spark.sparkContext
    conf = {key: value for key, value in context.getConf().getAll() if key.startswith(PREFIX)}
    settings = read_settings(arguments, conf, os.environ)
    if settings.disabled:
        return Detached()
    with _lock:
        if id(context) not in _attached:
            _guard.run("attaching", lambda: _attach(spark, settings))
        return _attached.get(id(context)) or Detached()


def _attach(spark: "SparkSession", settings: Settings) -> None:
    _attached[id(spark.sparkContext)] = Capture(spark, settings)


class Capture:
    """One observed Spark application."""

    def __init__(self, spark: "SparkSession", settings: Settings) -> None:
        self._settings, self._spark = settings, spark
        self._guard = Guard()
        self._error: BaseException | None = None
        self._signal: str | None = None
        self._signalled_at = 0.0
        self._pid = os.getpid()
        self._finished = threading.Lock()
        self._ready = threading.Event()
        session: Any = spark._jsparkSession
        context = spark.sparkContext
        name = settings.app_name or snake(context.appName or "spark")
        self.application = RunName(str(uuid.uuid4()), JobName(settings.namespace, name))
        self.emitter = Emitter(settings)
        self.runs = Runs(
            self.emitter, heartbeat=settings.heartbeat_seconds, lease=settings.lease_seconds
        )
        self._start_application(str(session.version()))
        usual = None
        if settings.registry_url:
            usual = Registry(settings.registry_url, settings.registry_auth)
        self._registries = Registries(usual)
        extractor = Extractor(session, self._registries)
        # Threads that last: each thread that talks to the JVM costs a connection for good.
        self._worker = Worker(self._guard, "headwater-capture", self._tick)
        self._planner = Worker(self._guard, "headwater-plans")
        restarts = Restarts(Path(settings.spool_dir).with_name("queries"))
        self._streams = Streams(
            session, self.runs, extractor, self._planner, self.application, restarts
        )
        self._parts = Parts(spark, self.runs, self.application)
        executions = Executions(session, context._jvm)
        self._batches = Batches(
            session, self.runs, extractor, self._streams, self._parts.parent_of, executions
        )
        self._hooks = Hooks(
            spark,
            StreamingListener(self._streams, self._guard, self._worker),
            ActionListener(self._batches, self._worker),
            on_stop=self._context_stopping,
            on_query_stop=self._streams.stopping,
        )
        self._endings = Endings(self)
        self._asked_at = time.monotonic()
        self._ready.set()

    def detach(self) -> None:
        """Stop observing; runs that are under way are reported as ABORT."""
        self._finish(Moment.COMPLETE, "capture was detached")

    def part(self, name: str) -> AbstractContextManager["SparkSession"]:
        """A session whose batch actions are told as those of a job inside this application."""
        return self._parts.open(name, self._settle)

    def interrupted(self, by: str) -> None:
        """Note a signal."""
        self._signal, self._signalled_at = by, time.monotonic()
        self.runs.interrupted(_SIGNAL_SECONDS)

    def failed(self, error: BaseException) -> None:
        """Note an exception that nobody caught."""
        self._error = error

    def over(self, *, in_handler: bool = False) -> None:
        """The driver ends: everything that still runs ends with it."""
        if os.getpid() != self._pid:
            return  # a forked child ends, not the driver
        if time.monotonic() - self._signalled_at > _SIGNAL_SECONDS:
            self._signal = None
        moment, reason = Moment.COMPLETE, "the driver ended while the query was running"
        if self._signal or isinstance(self._error, KeyboardInterrupt):
            # A call into Spark that a signal interrupts may raise anything.
            moment, reason = Moment.ABORT, f"the driver was ended by {self._signal or 'SIGINT'}"
        elif self._error is not None:
            moment = Moment.FAIL
        self._finish(moment, reason, settle=not in_handler)

    def _finish(self, moment: Moment, reason: str, *, settle: bool = True) -> None:
        if not self._finished.acquire(blocking=False):
            return
        self._notice_dead_jvm()
        if settle:
            # The last actions may still be on their way from Spark's listener bus.
            self._settle()
        self._abort_streams(reason)
        self._end_application(moment, reason)
        self._worker.close()
        self._planner.close()
        self._hooks.remove()
        self._endings.remove()
        self.emitter.close()
        _attached.pop(id(self._spark.sparkContext), None)

    def _context_stopping(self) -> None:
        """`spark.stop()`: queries that live get no word from Spark, so they get it from here."""
        self._settle()
        self.runs.interrupted(_SIGNAL_SECONDS)
        self._abort_streams("the Spark context was stopped while the query was running")

    def _settle(self) -> None:
        """Wait until what Spark has told of its actions is told on."""
        self._hooks.drain(self._settings.flush_seconds)
        self._worker.drain(self._settings.flush_seconds)

    def _abort_streams(self, reason: str) -> None:
        for run in self.runs.living():
            if run != self.application:
                self.runs.end(run.run_id, Moment.ABORT, reason)

    def _tick(self) -> None:
        if not self._ready.is_set():
            return
        self._notice_dead_jvm()
        self.runs.beat()
        if self._hooks.jvm_exit_code() is None:
            self._batches.poll()
        if self._registries and self._registry_is_due():
            self._streams.refresh()

    def _registry_is_due(self) -> bool:
        now = time.monotonic()
        due = now - self._asked_at >= self._settings.registry_seconds
        self._asked_at = now if due else self._asked_at
        return due

    def _notice_dead_jvm(self) -> None:
        code = self._hooks.jvm_exit_code()
        if code is None:
            return
        reason = f"the driver's JVM ended with code {code}"
        for run in self.runs.living():
            self.runs.end(run.run_id, Moment.FAIL, reason)

    def _start_application(self, version: str) -> None:
        run_facets = {"processing_engine": facets.processing_engine(version)}
        settings = self._settings
        if settings.parent_run_id and settings.parent_job:
            namespace, _, job = settings.parent_job.partition("/")
            above = RunName(settings.parent_run_id, JobName(namespace, job))
            run_facets["parent"] = facets.parent(above)
        self.runs.start(
            self.application,
            job_facets={"jobType": facets.job_type("BATCH", "APPLICATION")},
            run_facets=run_facets,
        )

    def _end_application(self, moment: Moment, reason: str) -> None:
        run_id, error = self.application.run_id, self._error
        if moment is Moment.FAIL and error is not None:
            text = f"{type(error).__name__}: {error}".partition("\n\n")[0]
            stack = "".join(traceback.format_exception(error))[:8_000]
            self.runs.end(run_id, moment, text[:2_000], stack)
        else:
            self.runs.end(run_id, moment, None if moment is Moment.COMPLETE else reason)
