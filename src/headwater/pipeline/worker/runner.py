"""The runner of one connector: the only thread that starts, watches and stops its queries."""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence

import msgspec
from py4j.protocol import Py4JNetworkError

from headwater.errors import HeadwaterError
from headwater.pipeline.batches import BatchTask
from headwater.pipeline.config import Kind, parse
from headwater.pipeline.files import Files
from headwater.pipeline.flows import PipelineContext, Positions
from headwater.pipeline.hosting import Task, make_tasks
from headwater.pipeline.journal import Journal
from headwater.pipeline.secrets import scrubbed
from headwater.pipeline.states import State, describe
from headwater.pipeline.targets import Target
from headwater.pipeline.worker.definitions import Definition
from headwater.pipeline.worker.progress import Progress
from headwater.pipeline.worker.store import encoded

_log = logging.getLogger(__name__)
_POLL_S = 0.5
_CLOSE_S = 75.0


class TaskSnapshot(msgspec.Struct, frozen=True):
    """A task as it was when its runner last looked."""

    name: str
    state: State
    trace: str = ""
    checkpoint: str = ""


class Snapshot(msgspec.Struct, frozen=True):
    """A connector as it was when its runner last looked; what the API answers with."""

    state: State = State.STARTING
    trace: str = ""
    tasks: tuple[TaskSnapshot, ...] = ()
    # Whether a query of it may be writing.
    active: bool = False


class ConnectorRunner(threading.Thread):
    """Brings a connector to what its definition says, and keeps it there.

    Others only leave a new definition, or the wish for a restart, and read the snapshot.
    """

    def __init__(
        self, name: str, context: PipelineContext, progress: Progress, checkpoints: str
    ) -> None:
        super().__init__(name=f"connector-{name}", daemon=True)
        self.connector, self.journal = name, Journal()
        self.snapshot = Snapshot()
        self.tasks: Sequence[Task | BatchTask] = ()
        self._pipeline, self._progress, self._checkpoints = context, progress, checkpoints
        self._changed = threading.Condition()
        self._wanted: Definition | None = None
        # The definitions are numbered: the latest one, the last for which every query was
        # stopped, and the last that was put into effect.
        self._version = self._halted_for = self._applied = 0
        self._has_run = self._closing = False
        self._after: tuple[ConnectorRunner, ...] = ()
        self._purge: list[str] = []
        self._restarts: list[Callable[[Task | BatchTask], bool]] = []
        self._fault = self._error = ""

    def apply(
        self,
        definition: Definition,
        *,
        after: Sequence["ConnectorRunner"] = (),
        purge: Sequence[str] = (),
    ) -> None:
        """Let the connector become what a definition says, once others have let go of targets."""
        with self._changed:
            self._wanted = definition
            self._version += 1
            if definition.target is State.RUNNING:
                tasks = tuple(TaskSnapshot(key, State.STARTING) for key in definition.tasks)
                self.snapshot = Snapshot(State.STARTING, "", tasks, self.snapshot.active)
            elif not self._has_run:
                self.snapshot = Snapshot(definition.target)
            self._after = (*self._after, *after)
            self._purge += purge
            self._changed.notify_all()

    def restart(self, which: Callable[[Task | BatchTask], bool]) -> None:
        """Let some of the tasks start again."""
        with self._changed:
            self._restarts.append(which)
            self._changed.notify_all()

    def rebuild(self) -> None:
        """Let the connector and all its tasks start again."""
        with self._changed:
            self._version += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Let the runner end its queries, and then itself; `join` waits for that."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    @property
    def is_quiet(self) -> bool:
        """Whether the connector is what it should be, and none of its queries writes."""
        settled = self._version == self._applied or not self._has_run
        return settled and not self.snapshot.active

    def has_let_go(self, places: frozenset[str]) -> bool:
        """Whether no query of the connector writes into targets, nor is about to."""
        settled = self._version in (self._applied, self._halted_for)
        writes = any(task.active and task.flow.target.place in places for task in self.tasks)
        return settled and not writes

    def run(self) -> None:
        """Work until closed; no error ends this loop."""
        while not self._closing:
            try:
                self._step()
            except Py4JNetworkError:
                _log.error("%s: the JVM is gone", self.connector)  # the worker ends
            except Exception as error:  # one that is not shown would leave a state that lies
                _log.exception("%s: its runner failed", self.connector)
                self._error = self._safe(describe(error))
                self.journal.error(self._error)
                self._publish()
                time.sleep(_POLL_S)
            with self._changed:
                if not self._closing and self._version == self._applied and not self._restarts:
                    self._changed.wait(_POLL_S)
        limit = time.monotonic() + _CLOSE_S
        while not self._halted() and time.monotonic() < limit:
            time.sleep(_POLL_S)

    def _step(self) -> None:
        with self._changed:
            wanted, version, after = self._wanted, self._version, self._after
            restarts, self._restarts = self._restarts, []
            self._has_run |= wanted is not None and wanted.target is State.RUNNING
        if wanted is None:
            return
        if version != self._applied:
            self._publish(starting=wanted.target is State.RUNNING)
            if not self._halted():
                time.sleep(_POLL_S)
                return
            self._halted_for = version
            places = frozenset(Target.of(key).place for key in wanted.tasks)
            if not all(other.has_let_go(places) for other in after):
                time.sleep(_POLL_S)
                return
            self._clean()
            self._launch(wanted)
            with self._changed:
                self._after = ()
                self._applied = version
        elif wanted.target is State.RUNNING:
            for task in self.tasks:
                if any(which(task) for which in restarts) and task.stop():
                    task.start()
                task.poll()
        self._error = ""
        self._publish()

    def _launch(self, wanted: Definition) -> None:
        self._fault, self.tasks = "", ()
        if wanted.deleted or wanted.target is State.STOPPED:
            return
        settings = self._pipeline.settings
        try:
            config = parse(wanted.name, wanted.config, settings.environ)
            # A generator begins anew each time: it repeats no record, nor makes up for a pause.
            seed = uuid.uuid4().hex if config.kind is Kind.GENERATOR else wanted.generation
            context = PipelineContext(self._pipeline.spark, settings, seed)
            checkpoint_of, positions_of = self._places(wanted, seed)
            pool = "spark.scheduler.pool"
            context.spark.sparkContext.setLocalProperty(pool, self.connector)
            tasks = make_tasks(config, context, checkpoint_of, positions_of, self.journal)
        except Exception as error:  # a connector that cannot be planned is its own affair
            is_known = isinstance(error, HeadwaterError)
            _log.error("%s cannot start: %s", wanted.name, error, exc_info=not is_known)
            self._fault = self._safe(describe(error))
            self.journal.error(self._fault)
            return
        self.tasks = tasks
        if wanted.target is State.RUNNING:
            for task in tasks:
                self._publish(starting=True)
                task.start()

    def _places(
        self, wanted: Definition, seed: str
    ) -> tuple[Callable[[Target], str], Callable[[Target], Positions | None]]:
        made = f"{self._checkpoints}/{encoded(wanted.name)}/generated"

        def checkpoint_of(target: Target) -> str:
            record = wanted.tasks.get(target.key)
            if record is not None:
                return self._progress.path(record)
            Files(self._pipeline.spark, made).remove_all()
            return f"{made}/{seed}"

        def positions_of(target: Target) -> Positions | None:
            record = wanted.tasks.get(target.key)
            return self._progress.first_positions(target, record) if record else None

        return checkpoint_of, positions_of

    def _halted(self) -> bool:
        """Stop every task; false while one of them has not ended yet."""
        stopped = [task.stop() for task in self.tasks]
        if all(stopped):
            self.tasks = ()
        return all(stopped)

    def _clean(self) -> None:
        with self._changed:
            folders, self._purge = self._purge, []
        for folder in folders:
            Files(self._pipeline.spark, f"{self._checkpoints}/{folder}").remove_all()

    def _publish(self, *, starting: bool = False) -> None:
        wanted = self._wanted
        assert wanted is not None  # noqa: S101 (there is something to tell only then)
        active = any(task.active for task in self.tasks)
        if fault := self._fault or self._error:
            self.snapshot = Snapshot(State.FAILED, fault, (), active)
            return
        if starting and not self.tasks:
            tasks = tuple(TaskSnapshot(key, State.STARTING) for key in wanted.tasks)
            self.snapshot = Snapshot(State.STARTING, "", tasks, active)
            return
        paused = self._version == self._applied and wanted.target is State.PAUSED
        tasks = tuple(self._task(task, paused=paused) for task in self.tasks)
        state = wanted.target
        if self._version != self._applied and state is not State.RUNNING:
            state = self.snapshot.state  # it is on its way there
        self.snapshot = Snapshot(state, "", tasks, active)

    def _task(self, task: Task | BatchTask, *, paused: bool) -> TaskSnapshot:
        checkpoint = task.checkpoint if isinstance(task, Task) else ""
        if paused:
            return TaskSnapshot(task.flow.name, State.PAUSED, checkpoint=checkpoint)
        return TaskSnapshot(task.flow.name, task.state, self._safe(task.trace), checkpoint)

    def _safe(self, text: str) -> str:
        config = self._wanted.config if self._wanted else {}
        return scrubbed(text, config, self._pipeline.settings.environ)


def failed(task: Task | BatchTask) -> bool:
    """Whether a task has failed, or waits to be tried again."""
    return task.state in (State.FAILED, State.BACKOFF)
