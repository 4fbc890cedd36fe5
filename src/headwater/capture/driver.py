"""The driver itself as a run: how an application begins and ends, whichever way it has Spark."""

import os
import time
import traceback
import uuid
from typing import Protocol

from headwater.capture import facets
from headwater.capture.cancellations import is_cancellation
from headwater.capture.emitter import Emitter
from headwater.capture.events import RunName
from headwater.capture.runs import Runs
from headwater.capture.settings import Settings
from headwater.errors import ApplicationFailed
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.names import JobName

# A signal that the driver outlives by this much did not end it.
SIGNAL_SECONDS = 30.0
_OF_SPARK = frozenset({"py4j", "pyspark"})
_BY_SIGINT = 130  # the exit code of a shell's command that SIGINT has ended


class Finish(Protocol):
    """What is called once, when the driver ends; in a signal's handler nothing can settle."""

    def __call__(self, event_type: EventType, reason: str, *, settle: bool = True) -> None:
        """End everything."""


class Driver:
    """One application: its run, and the runs that it is the parent of."""

    def __init__(self, settings: Settings, name: str, version: str, finish: Finish) -> None:
        self.settings = settings
        self.run = RunName(
            str(uuid.uuid4()), JobName(settings.namespace, settings.app_name or name)
        )
        self.emitter = Emitter(settings)
        self.runs = Runs(
            self.emitter,
            version,
            heartbeat=settings.heartbeat_seconds,
            lease=settings.lease_seconds,
        )
        self._finish = finish
        self._error: BaseException | None = None
        self._signal: str | None = None
        self._signalled_at = 0.0
        self._pid = os.getpid()
        self._start()

    def interrupted(self, by: str) -> None:
        """Note a signal."""
        self._signal, self._signalled_at = by, time.monotonic()
        self.runs.interrupted(SIGNAL_SECONDS)

    def failed(self, error: BaseException | None) -> None:
        """Note the exception that ends the driver, if one does."""
        self._error = error

    def over(self, *, in_handler: bool = False) -> None:
        """The driver ends: everything that still runs ends with it."""
        if os.getpid() != self._pid:
            return  # a forked child ends, not the driver
        if time.monotonic() - self._signalled_at > SIGNAL_SECONDS:
            self._signal = None
        event_type, reason = EventType.COMPLETE, "the driver ended while the query was running"
        if in_handler or self._is_interrupted():
            reason = f"the driver was ended by {self._signal or 'SIGINT'}"
            event_type = EventType.ABORT
        elif self._error is not None:
            event_type = EventType.FAIL
        self._finish(event_type, reason, settle=not in_handler)

    def _is_interrupted(self) -> bool:
        """Whether a signal is why the driver ends: it may have caught the signal and gone on."""
        error = self._error
        if isinstance(error, KeyboardInterrupt) or self._signal is None:
            return isinstance(error, KeyboardInterrupt)
        if error is None or isinstance(error, SystemExit):
            # At SIGTERM and SIGHUP, drivers clean up and exit; at SIGINT, some just go on.
            return self._signal != "SIGINT" or _exits_by_interrupt(error)
        return _is_of_interrupt(error)

    def abort_children(self, reason: str) -> None:
        """End the runs below the driver's own."""
        for run in self.runs.living():
            if run != self.run:
                self.runs.end(run.run_id, EventType.ABORT, reason)

    def end(self, event_type: EventType, reason: str) -> None:
        """End the driver's own run; how a signal ends it is decided before."""
        error, run_id = self._error, self.run.run_id
        if event_type is EventType.FAIL and isinstance(error, ApplicationFailed):
            self.runs.end(run_id, event_type, error.message, error.trace, is_known=True)
        elif event_type is EventType.FAIL and error is not None:
            self.runs.fail(run_id, error, is_known=True)
        else:
            why = None if event_type is EventType.COMPLETE else reason
            self.runs.end(run_id, event_type, why, is_known=True)

    def _start(self) -> None:
        settings, above = self.settings, None
        if settings.parent_run_id and settings.parent_job:
            namespace, _, job = settings.parent_job.partition("/")
            above = RunName(settings.parent_run_id, JobName(namespace, job))
        self.runs.start(self.run, facets.job_type("BATCH", "APPLICATION"), parent=above)


def _exits_by_interrupt(end: SystemExit | None) -> bool:
    return end is not None and (end.code == _BY_SIGINT or _has_interrupt(end))


def _is_of_interrupt(error: BaseException) -> bool:
    """Whether an error is what a signal makes of a call into Spark."""
    if type(error).__module__.partition(".")[0] in _OF_SPARK or isinstance(error, OSError):
        return True  # a call into Spark that a signal interrupts may raise anything
    trace = "".join(traceback.format_exception(error, limit=0))
    return _has_interrupt(error) or is_cancellation(trace)


def _has_interrupt(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
