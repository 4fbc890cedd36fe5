"""Follows the streaming queries of a Spark Connect client by asking its server now and then.

A listener would do so too, but its thread keeps a client alive that is through.
"""

import json
import time
from functools import partial
from typing import Any, Protocol

from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.progress import offsets_of, ran
from headwater.capture.runs import Runs
from headwater.openlineage.lifecycle import EventType

_EVERY = 1.0  # seconds between two questions whether a query is still active


class Handle(Protocol):
    """A client's object for a query."""

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it runs."""

    @property
    def recentProgress(self) -> list[Any]:  # noqa: N802
        """Its last reports, oldest first."""

    def exception(self) -> Exception | None:
        """Why it failed."""


class Query:
    """One start of one query."""

    def __init__(self, handle: Handle, *, is_bounded: bool) -> None:
        self.handle, self.is_bounded = handle, is_bounded
        self.is_stopped = False
        self.heard, self.asked_at = "", 0.0  # the last report's moment, and that of asking


class Queries:
    """The queries that this client started and that are not over."""

    def __init__(self, runs: Runs, heartbeat: float) -> None:
        self._runs, self._heartbeat = runs, heartbeat
        self._queries: dict[str, Query] = {}
        self._barrier = FaultBarrier()
        self._looked_at = 0.0

    def add(self, run_id: str, query: Query) -> None:
        """Follow a query."""
        self._queries[run_id] = query

    def stopping(self, run_id: str) -> None:
        """Someone asked a query to stop."""
        query = self._queries.get(run_id)
        if query is not None:
            query.is_stopped = True

    def look(self) -> None:
        """Ask, if it is time."""
        if time.monotonic() - self._looked_at >= _EVERY:
            self.look_now()
            self._looked_at = time.monotonic()

    def look_now(self) -> None:
        """Ask which queries are over, and how far those are whose heartbeat is due.

        A query that cannot be asked stops no other; when none can be, the server is gone.

        Raises: what the last of them raised, when none answers.
        """
        errors = []
        queries = list(self._queries.items())
        for run_id, query in queries:
            error = self._barrier.attempt(partial(self._look_at, run_id, query))
            if error is not None:
                errors.append(error)
        if errors and len(errors) == len(queries):
            raise errors[-1]

    def _look_at(self, run_id: str, query: Query) -> None:
        is_active = query.handle.isActive
        now = time.monotonic()
        if not is_active or now - query.asked_at >= self._heartbeat:
            query.asked_at = now
            self._barrier.run("a query's progress", partial(self._progress, run_id, query))
        if not is_active:
            self._end(run_id, query)
            del self._queries[run_id]

    def _progress(self, run_id: str, query: Query) -> None:
        for told in query.handle.recentProgress:
            report = json.loads(told.json) if hasattr(told, "json") else dict(told)
            if report["runId"] == run_id and report["timestamp"] > query.heard:
                query.heard = report["timestamp"]
                offsets = offsets_of(report) if ran(report) else None
                commits = [{"batch": report["batchId"], "offsets": offsets}] if offsets else []
                self._runs.progressed(run_id, str(report.get("id")), [report], commits)

    def _end(self, run_id: str, query: Query) -> None:
        error = query.handle.exception()
        if error is not None:
            text = str(error)
            self._runs.end(run_id, EventType.FAIL, text.partition("\n\n")[0][:2_000], text[:8_000])
        elif query.is_bounded and not query.is_stopped:
            self._runs.end(run_id, EventType.COMPLETE)
        else:
            self._runs.end(run_id, EventType.ABORT)
