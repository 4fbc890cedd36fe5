"""The life of runs: what was sent about each, and what may still be sent.

Knows nothing of Spark. A run starts once and ends once; after its end nothing follows, so
no COMPLETE can come after a FAIL. While it lives, heartbeats are sent at a steady rate
however often there is news.
"""

import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from headwater.capture import facets
from headwater.capture.cancellations import is_cancellation
from headwater.capture.events import Event, RunName, run_event
from headwater.capture.facets import Written
from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.progress import Commit, Progress
from headwater.openlineage.lifecycle import ENDINGS, EventType

# Ids of ended runs that are kept, so that a late word on one of them starts nothing.
_REMEMBERED = 10_000


class Outlet(Protocol):
    """Where events go."""

    def emit(self, event: Event) -> None:
        """Take one event."""


class Run:
    """One run, from its start to its end."""

    def __init__(
        self, name: RunName, job_facets: Mapping[str, Any], run_facets: Mapping[str, Any]
    ) -> None:
        self.name = name
        self.job_facets = dict(job_facets)
        self.run_facets = dict(run_facets)
        self.inputs: dict[tuple[str, str], Event] = {}
        self.outputs: dict[tuple[str, str], Event] = {}
        self.told: tuple[dict[tuple[str, str], Event], dict[tuple[str, str], Event]] = ({}, {})
        self.progress: Progress | None = None
        self.last_sent = 0.0


class Runs:
    """Every run of one application that capture has seen start."""

    def __init__(
        self, outlet: Outlet, spark_version: str, *, heartbeat: float, lease: float
    ) -> None:
        self._outlet = outlet
        self._engine = facets.processing_engine(spark_version)
        self._heartbeat, self._lease = heartbeat, lease
        self._runs: dict[str, Run] = {}
        self._ended: dict[str, None] = {}
        self._interrupted_until = 0.0
        self._stopping_until = 0.0
        self._barrier = FaultBarrier()
        self._lock = threading.RLock()

    def start(
        self,
        name: RunName,
        kind: Mapping[str, Any],
        *,
        parent: RunName | None = None,
        more: Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> None:
        """A run of a kind of job begins, with more facets; the same run begins only once."""
        with self._lock:
            if name.run_id in self._runs or name.run_id in self._ended:
                return
            above = {"parent": facets.parent(parent)} if parent is not None else {}
            found = {**above, "processing_engine": self._engine, **(more or {})}
            run = self._runs[name.run_id] = Run(name, {"jobType": kind}, found)
            self._send(run, EventType.START, at=at)

    def describe(
        self,
        run_id: str,
        inputs: list[Event],
        outputs: list[Event],
        more: Mapping[str, Any] | None = None,
        *,
        tell: bool = True,
    ) -> None:
        """Datasets of a run become known, or change: a RUNNING event says so at once."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                return
            run.inputs.update({_key(d): d for d in inputs})
            run.outputs.update({_key(d): d for d in outputs})
            run.run_facets.update(more or {})
            if tell and run.told != (run.inputs, run.outputs):
                self._send(run, EventType.RUNNING, datasets=True)

    def progressed(
        self,
        run_id: str,
        query_id: str,
        reports: Sequence[Mapping[str, Any]],
        commits: Sequence[Commit],
    ) -> None:
        """News of a run's progress, for its next heartbeat."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                return
            run.progress = run.progress or Progress(query_id)
            for report in reports:
                run.progress.add(report)
            run.progress.committed(commits)

    def inputs(self, run: RunName) -> list[tuple[str, str]]:
        """The namespaces and names of what a run is known to read."""
        with self._lock:
            found = self._runs.get(run.run_id)
            return [*found.inputs] if found is not None else []

    def wrote(self, run_id: str, written: Written) -> None:
        """What a write has left: its end tells of it."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                return
            for key, output in run.outputs.items():
                run.outputs[key] = facets.with_written(output, written)
            if written.snapshot is not None or written.offsets or written.latest:
                run.run_facets["headwater_progress"] = facets.batch_progress(written)

    def beat(self) -> None:
        """Send the heartbeats that are due; one that fails stops no other."""
        now = time.monotonic()
        with self._lock:
            for run in [*self._runs.values()]:
                if now - run.last_sent >= self._heartbeat:
                    self._barrier.run("a heartbeat", partial(self._send, run, EventType.RUNNING))

    def interrupted(self, seconds: float) -> None:
        """A signal asks the driver to end: what is cancelled within `seconds` is aborted by it."""
        self._interrupted_until = time.monotonic() + seconds

    def stopping(self, seconds: float) -> None:
        """The context is being stopped: what fails within `seconds` is aborted by that."""
        self._stopping_until = time.monotonic() + seconds

    def end(
        self,
        run_id: str,
        event_type: EventType,
        reason: str | None = None,
        stack: str | None = None,
        *,
        is_known: bool = False,
    ) -> bool:
        """A run ends; False if it had ended before, or was never seen.

        A failure that the driver's end brings is an ABORT, unless it `is_known` to be none.
        """
        with self._lock:
            run = self._runs.pop(run_id, None)
            if run is None:
                return False
            self._ended[run_id] = None
            while len(self._ended) > _REMEMBERED:
                self._ended.pop(next(iter(self._ended)))
            is_open = event_type is EventType.FAIL and not is_known
            if is_open and self._is_aborted(f"{reason}\n{stack}"):
                event_type = EventType.ABORT  # Spark cancels what runs, which looks like a failure
            extra = {"errorMessage": facets.error_message(reason, stack)} if reason else {}
            # A backend may take the last event's datasets for the run's: say them again.
            self._send(run, event_type, extra, datasets=True)
            return True

    def fail(self, run_id: str, error: BaseException, *, is_known: bool = False) -> None:
        """A run ends by an error in Python."""
        text = f"{type(error).__name__}: {error}".partition("\n\n")[0]
        stack = "".join(traceback.format_exception(error))[:8_000]
        self.end(run_id, EventType.FAIL, text[:2_000], stack, is_known=is_known)

    def living(self) -> list[RunName]:
        """The runs that have not ended, oldest first."""
        with self._lock:
            return [run.name for run in self._runs.values()]

    def _is_aborted(self, text: str) -> bool:
        """Whether what fails now is aborted by the end of the context, or by a signal."""
        now = time.monotonic()
        if now < self._stopping_until:
            return True
        return now < self._interrupted_until and is_cancellation(text)

    def _send(
        self,
        run: Run,
        event_type: EventType,
        extra: Mapping[str, Any] | None = None,
        *,
        at: datetime | None = None,
        datasets: bool = False,
    ) -> None:
        found = {**run.run_facets, **(extra or {})}
        self._barrier.run("a query's progress", lambda: found.update(_progress(run)))
        if event_type not in ENDINGS:
            found["headwater_lease"] = facets.lease(self._lease)
        event = run_event(
            event_type,
            run.name,
            at=at or datetime.now(UTC),
            run_facets=found,
            job_facets=run.job_facets,
            inputs=run.inputs.values() if datasets else (),
            outputs=run.outputs.values() if datasets else (),
        )
        if datasets:
            run.told = (dict(run.inputs), dict(run.outputs))
        run.last_sent = time.monotonic()
        self._outlet.emit(event)


def _progress(run: Run) -> dict[str, Any]:
    progress = run.progress.facet() if run.progress is not None else None
    return {"headwater_progress": progress} if progress is not None else {}


def _key(dataset: Event) -> tuple[str, str]:
    return dataset["namespace"], dataset["name"]
