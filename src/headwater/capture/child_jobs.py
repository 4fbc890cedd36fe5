"""Child jobs of an application: batch work that is told as jobs of their own.

An application that runs many jobs, as a worker does, gives each a session of its own; the
session's conf says whose actions they are, wherever in Spark they are asked about.
"""

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headwater.capture import facets
from headwater.capture.events import RunName
from headwater.capture.runs import Runs
from headwater.capture.spark.jvm import Java, option
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.names import JobName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEY = "spark.headwater.child_run"


class ChildJobs:
    """The child jobs of one application that are under way."""

    def __init__(self, spark: "SparkSession", runs: Runs, application: RunName) -> None:
        self._spark, self._runs, self._application = spark, runs, application
        self._living: dict[str, RunName] = {}
        self._lock = threading.Lock()

    @contextmanager
    def open(self, name: str, settle: Callable[[], object]) -> Iterator["SparkSession"]:
        """A session whose batch actions are those of a job; `settle` waits for the last of them.

        The job's run starts here, and ends with the block: as FAIL if it raises.
        """
        run = RunName(str(uuid.uuid4()), JobName(self._application.job.namespace, name))
        self._start(run)
        try:
            yield _session_of_its_own(self._spark, run.run_id)
        except BaseException as error:
            settle()
            self._runs.fail(run.run_id, error)
            raise
        else:
            settle()
            self._runs.end(run.run_id, EventType.COMPLETE)
        finally:
            with self._lock:
                self._living.pop(run.run_id, None)

    def parent_of(self, session: Java) -> RunName:
        """The run that an action of a session belongs to: a child job's, else the application's."""
        found = option(session.conf().getOption(_KEY)) if session is not None else None
        with self._lock:
            return self._living.get(str(found), self._application)

    def session_made(self, session: Java, origin: Java) -> None:
        """A session made from another one belongs to the same child job."""
        child = option(origin.conf().getOption(_KEY))
        if child is not None:
            session.conf().set(_KEY, str(child))

    def _start(self, run: RunName) -> None:
        with self._lock:
            self._living[run.run_id] = run
        self._runs.start(run, facets.job_type("BATCH", "APPLICATION"), parent=self._application)


def _session_of_its_own(spark: "SparkSession", run_id: str) -> "SparkSession":
    # A clone keeps the listeners, which a session made by newSession() would not have.
    clone: Any = spark._jsparkSession.cloneSession()
    session = type(spark)(spark.sparkContext, clone)
    session.conf.set(_KEY, run_id)
    return session
