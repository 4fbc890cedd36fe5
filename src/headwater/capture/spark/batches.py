"""Follows batch actions: one child job for each write, named as OpenLineage's listener does."""

import contextlib
import time
import uuid
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.capture import facets
from headwater.capture.datasets.naming import Dataset
from headwater.capture.events import RunName, snake, tail, word
from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.plan.rules.writes import LAZY as WRITES
from headwater.capture.runs import Runs
from headwater.capture.spark.catalogs import iceberg
from headwater.capture.spark.described import Described
from headwater.capture.spark.executions import MICRO_BATCH, Executions
from headwater.capture.spark.extract import Extractor
from headwater.capture.spark.jvm import (
    CONTEXT_ENDED,
    Java,
    call,
    class_name,
    message,
    seq,
    stack_trace,
)
from headwater.capture.spark.nodes import WRAPPERS, is_if_absent, node_name, writes_by_another
from headwater.capture.spark.offsets import offsets_read
from headwater.capture.spark.sessions import SessionSettings
from headwater.capture.spark.written import Place, counted, written
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.names import JobName

# How long the end of a write may be on its way from Spark to its listeners.
_UNTOLD_SECONDS = 60.0


class Write(NamedTuple):
    """A batch write that was told of while it was under way."""

    number: int
    plan: Java
    run: RunName
    names: frozenset[tuple[str, str]]


class Batches:
    """Turns batch writes into runs: long ones from their beginning, short ones when they end."""

    def __init__(
        self,
        session: Java,
        runs: Runs,
        extractor: Extractor,
        parent_of: Callable[[Java], RunName],
        executions: Executions,
        settings: SessionSettings,
    ) -> None:
        self._runs, self._extractor = runs, extractor
        self._parent_of, self._executions = parent_of, executions
        self._settings = settings
        self._barrier = FaultBarrier()
        self._recent: deque[tuple[int, frozenset[tuple[str, str]]]] = deque(maxlen=64)
        self._seen: frozenset[int] = frozenset()
        self._asked: set[int] = set()
        self._under_way: dict[int, Write] = {}
        self._missing: dict[int, float] = {}
        self._over: deque[int] = deque(maxlen=64)
        self._application_id = str(session.sparkContext().applicationId())

    def poll(self) -> None:
        """Tell of the writes that were under way the last time as well, and still are."""
        running = self._executions.running()
        for number in sorted((running & self._seen) - self._asked):
            self._asked.add(number)
            execution = self._executions.get(number)
            if execution is not None:
                self._begin(number, execution)
        self._seen, self._asked = running, self._asked & running
        self._forget(running)

    def finished(self, execution: Java, duration_ns: int, error: Java | None, at: float) -> None:
        """An action is over, well or not; `at` is when, on the monotonic clock."""
        if class_name(execution) == MICRO_BATCH:
            return  # the streaming query's own, of which Streams tells
        identity = int(execution.id())
        if identity in self._over:
            return  # two listeners of one session have seen it
        self._over.append(identity)
        begun = self._under_way.pop(identity, None)
        if begun is not None:
            self._recent.append((identity, begun.names))
            self._end(begun.run, begun.plan, Place(), execution, duration_ns, error)
            return
        analyzed = call(execution, "analyzed")
        if analyzed is not None:
            self._settings.set_by_sql(analyzed)
        plans = _writes(analyzed)
        for plan, place in zip(plans, self._places(plans), strict=True):
            self._report(plan, place, execution, duration_ns, error, at)

    def _places(self, plans: list[Java]) -> list[Place]:
        """The place of each write of a statement among those into the same table."""
        if len(plans) == 1:
            return [Place()]
        tables = [self._extractor.table(plan) for plan in plans]
        keys = [str(call(iceberg(table), "location")) for table in tables]
        return [Place(keys[:at].count(key), keys.count(key)) for at, key in enumerate(keys)]

    def _report(
        self, plan: Java, place: Place, execution: Java, duration_ns: int, error: Java | None,
        at: float,
    ) -> None:  # fmt: skip
        """Report a write that is over, from its beginning."""
        session, identity = call(execution, "sparkSession"), int(execution.id())
        described = self._extractor.batch(plan, session, execution)
        output = described.output
        if error is None and is_if_absent(plan) and self._is_left_out(plan, execution, output):
            return
        if described.runs:
            self._stitch(described)
            return
        if output is None or self._is_wrapper(plan, output, identity):
            return
        self._recent.append((identity, output.names))
        ago = timedelta(seconds=time.monotonic() - at, microseconds=duration_ns / 1_000)
        node = node_name(execution, plan, failed=error is not None)
        run = self._start(node, session, described, output, datetime.now(UTC) - ago)
        self._runs.describe(run.run_id, described.inputs(), described.outputs(), tell=False)
        self._end(run, plan, place, execution, duration_ns, error)

    def _begin(self, number: int, execution: Java) -> None:
        plan = call(execution, "analyzed")
        if plan is None or class_name(plan) not in WRITES or class_name(plan) in WRAPPERS:
            return
        session, identity = call(execution, "sparkSession"), int(execution.id())
        described = self._extractor.batch(plan, session, execution)
        output = described.output
        if described.runs or output is None or identity in self._over:
            return
        began = self._executions.began_at(number)
        at = datetime.fromtimestamp(began, UTC) if began is not None else None
        run = self._start(node_name(execution, plan), session, described, output, at)
        self._under_way[identity] = Write(number, plan, run, output.names)
        self._runs.describe(run.run_id, described.inputs(), described.outputs())

    def _forget(self, running: frozenset[int]) -> None:
        """End what Spark has not told the end of: its listeners lose events when overloaded."""
        now = time.monotonic()
        for identity, write in list(self._under_way.items()):
            if write.number in running:
                continue
            if now - self._missing.setdefault(identity, now) > _UNTOLD_SECONDS:
                del self._under_way[identity]
                self._runs.end(write.run.run_id, EventType.ABORT, "Spark did not tell how it ended")
        self._missing = {i: at for i, at in self._missing.items() if i in self._under_way}

    def _start(
        self,
        node: str,
        session: Java,
        described: Described,
        output: Dataset,
        at: datetime | None,
    ) -> RunName:
        parent = self._parent_of(session)
        run = RunName(str(uuid.uuid4()), _job(node, output, parent.job))
        self._runs.start(
            run,
            facets.job_type("BATCH", "SQL_JOB"),
            parent=parent,
            more={**described.notes(), **self._settings.facet(session)},
            at=at,
        )
        return run

    def _end(
        self, run: RunName, plan: Java, place: Place, execution: Java, duration_ns: int,
        error: Java | None,
    ) -> None:  # fmt: skip
        """The end of a write, with what it has left."""
        if error is not None:
            text = message(error)
            event_type = EventType.ABORT if CONTEXT_ENDED in text else EventType.FAIL
            self._runs.end(run.run_id, event_type, text, stack_trace(error))
            return
        # It has ended, come what may.
        self._barrier.run(
            "what a write left",
            lambda: self._tell_what_is_left(run, plan, place, execution, duration_ns),
        )
        self._runs.end(run.run_id, EventType.COMPLETE)

    def _tell_what_is_left(
        self, run: RunName, plan: Java, place: Place, execution: Java, duration_ns: int
    ) -> None:
        with contextlib.suppress(Py4JError, PySparkException):
            table = self._extractor.table(plan)
            left = written(execution, table, self._application_id, duration_ns, place)
            if any(namespace.startswith("kafka://") for namespace, _ in self._runs.inputs(run)):
                read = offsets_read(execution)
                left = msgspec.structs.replace(left, offsets=read.ranges, latest=read.at_most)
            self._runs.wrote(run.run_id, left)

    def _stitch(self, described: Described) -> None:
        """A write inside foreachBatch is an output of the streaming query itself."""
        for run_id in described.runs:
            self._runs.describe(
                run_id,
                described.inputs(),
                described.outputs(),
                described.notes(),
            )

    def _is_left_out(self, plan: Java, execution: Java, output: Dataset | None) -> bool:
        """Whether a write has written nothing, because something was there."""
        if output is not None and writes_by_another(plan):
            return not self._is_wrapper(plan, output, int(execution.id()))
        return counted(call(execution, "executedPlan")).files == 0

    def _is_wrapper(self, plan: Java, output: Dataset, identity: int) -> bool:
        """Whether a command that it ran wrote the output: Spark numbers executions in order."""
        if class_name(plan) not in WRAPPERS:
            return False
        return any(names & output.names and inner > identity for inner, names in self._recent)


def _writes(plan: Java | None) -> list[Java]:
    """The commands of a plan that write: the plan itself, or each of `FROM … INSERT … INSERT …`."""
    if plan is None:
        return []
    if class_name(plan) == "Union":
        children = seq(plan.children())
        return children if all(class_name(child) in WRITES for child in children) else []
    return [plan] if class_name(plan) in WRITES else []


def _job(node: str, output: Dataset, parent: JobName) -> JobName:
    # The catalog's name of a table, if it has one.
    suffix = word(output.symlinks[0].name) if output.symlinks else tail(output.name)
    return JobName(parent.namespace, f"{parent.name}.{snake(node)}.{suffix}")
