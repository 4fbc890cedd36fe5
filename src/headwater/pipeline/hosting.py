"""A connector's tasks: queries started, watched, retried, and built again for a new schema."""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from headwater.errors import BadConfig, HeadwaterError
from headwater.pipeline import targets as sink_targets
from headwater.pipeline.batches import BACKOFF_S, BatchTask
from headwater.pipeline.config import ConnectorConfig, Kind
from headwater.pipeline.failures import causes, is_transient, text_is_transient
from headwater.pipeline.flows import Flow, PipelineContext, Positions, Start
from headwater.pipeline.formats import wire
from headwater.pipeline.formats.converters import Ids
from headwater.pipeline.generator import source
from headwater.pipeline.generator.topics import check as check_topics
from headwater.pipeline.jobs.catalog import Job, job
from headwater.pipeline.journal import Journal
from headwater.pipeline.observe import report_failed_start
from headwater.pipeline.settings import Settings
from headwater.pipeline.sinks import iceberg, s3
from headwater.pipeline.states import State, describe
from headwater.pipeline.targets import Target
from headwater.pipeline.transforms import check as check_transforms
from headwater.schemas.registry import SchemaId

_log = logging.getLogger(__name__)
# A query that has run this long has recovered: the next failure begins with the shortest pause.
_STEADY_S = 60.0
_PLANS = {
    Kind.GENERATOR: source.flows,
    Kind.S3_SINK: s3.flows,
    Kind.ICEBERG_SINK: iceberg.flows,
}

# The checkpoint of a target, and the first positions of a query that has none there yet.
CheckpointOf = Callable[[Target], str]
PositionsOf = Callable[[Target], Positions | None]


def verify(config: ConnectorConfig) -> None:
    """See what only Spark can tell: that expressions, columns and formats can be used.

    Raises:
        BadConfig: one cannot be used, with its key.

    """
    if config.kind is Kind.GENERATOR:
        check_topics(config)
    if config.kind is Kind.S3_SINK:
        s3.file_format(config)
    if config.kind is Kind.ICEBERG_SINK:
        iceberg.verify(config)
    if config.kind is not Kind.JOB:
        check_transforms(config)


def targets(config: ConnectorConfig, settings: Settings) -> tuple[Target, ...]:
    """What a connector or job writes into, in the order of its tasks."""
    if config.kind is not Kind.JOB:
        return sink_targets.targets(config, settings)
    wanted, own, _ = _job_settings(config, settings)
    return (wanted.target(own),)


def make_tasks(
    config: ConnectorConfig,
    context: PipelineContext,
    checkpoint_of: CheckpointOf,
    positions_of: PositionsOf,
    journal: Journal,
) -> "Sequence[Task | BatchTask]":
    """The tasks of a connector, none of them started."""
    for key in config.unknown:
        _log.warning("%s: the key %s is not supported and has no effect", config.name, key)
        journal.warn(f"the key {key} is not supported and has no effect")
    if config.kind is not Kind.JOB:
        plan = _PLANS[config.kind](config, context)
    else:
        wanted, settings, every = _job_settings(config, context.settings)
        place = PipelineContext(context.spark, settings, context.seed)
        if wanted.run:
            return [BatchTask(config.name, wanted.run, place, int(every or 0), journal)]
        if every:
            raise BadConfig(config.name, {"job.every.ms": f"{wanted.name} is no batch job"})
        plan = [wanted.flow(place)]
    return [
        Task(
            flow,
            checkpoint_of(flow.target),
            journal,
            partial(positions_of, flow.target),
            partial(report_failed_start, context.spark),
        )
        for flow in plan
    ]


class Task:
    """One flow and the query that runs it now."""

    def __init__(
        self,
        flow: Flow,
        checkpoint: str,
        journal: Journal | None = None,
        positions: Callable[[], Positions | None] = lambda: None,
        report: Callable[[str, BaseException], None] = lambda _name, _error: None,
    ) -> None:
        self.flow, self.checkpoint = flow, checkpoint
        self.journal = journal or Journal()
        self._positions, self._report = positions, report
        self.ids = Ids()
        self.query: StreamingQuery | None = None
        self.state = State.STARTING
        self.trace = ""
        self._failures = 0
        self._retry_at = 0.0
        self._began = 0.0

    @property
    def active(self) -> bool:
        """Whether a query of the task may be writing."""
        return self.query is not None

    def start(self) -> None:
        """Start, or go on from the checkpoint."""
        try:
            begin = Start(self.ids, self.checkpoint, self._positions())
            self.query = self.flow.start(begin)
        except Exception as error:  # whatever a service or Spark says, the neighbours go on
            self._failed(describe(error), transient=is_transient(error), how="cannot start")
            if self.state is State.FAILED:
                self._report(self.flow.name, error)
            return
        self.state, self.trace, self._began = State.RUNNING, "", time.monotonic()
        if self.query is not None:
            self.journal.info(f"{self.flow.name} runs as {self.query.runId}")

    def poll(self) -> None:
        """See how the query is, and retry or rebuild it where that helps."""
        if self.state is State.FAILED:
            return
        if self.state is State.BACKOFF and time.monotonic() < self._retry_at:
            return
        if self.query is None:
            self.start()
        elif has_ended(self.query):
            self._ended()
        elif self._failures and time.monotonic() - self._began > _STEADY_S:
            self._failures = 0

    def stop(self) -> bool:
        """End the query, whose checkpoint stays; false while it has not ended yet."""
        if self.query is not None:
            try:
                self.query.stop()
            except (Py4JError, PySparkException) as error:
                # It has not ended in time. Another query on its checkpoint must wait for it.
                self.journal.warn(f"{self.flow.name} does not stop yet: {describe(error)[:200]}")
                if not has_ended(self.query):
                    return False
            self.query = None
            self.journal.info(f"{self.flow.name} is stopped")
        return True

    def _ended(self) -> None:
        assert self.query is not None  # noqa: S101 (poll asks only about a query that was)
        error, chain = self.query.exception(), causes(self.query)
        self.query = None
        message = str(error) if error else "the query ended by itself"
        new = wire.unknown_id(message)
        try:
            learns = new is not None and self._learns(new)
        except HeadwaterError as problem:
            self._failed(describe(problem), transient=is_transient(problem), how="failed")
            return
        if not learns:
            self._failed(message, transient=text_is_transient(chain), how="failed")
            return
        _log.info("%s continues with schema id %s", self.flow.name, new)
        self.journal.info(f"{self.flow.name} found a new schema, id {new}, and continues with it")
        self.start()

    def _failed(self, message: str, *, transient: bool, how: str) -> None:
        self.trace = message
        if not transient:
            self.state = State.FAILED
            self.journal.error(f"{self.flow.name} {how}: {message}")
            return
        pause = BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)]
        self._failures += 1
        self.state, self._retry_at = State.BACKOFF, time.monotonic() + pause
        self.journal.warn(f"{self.flow.name} {how}, and is tried again in {pause:.0f} s: {message}")

    def _learns(self, new: SchemaId) -> bool:
        if new in self.ids.learnt | self.ids.hopeless:
            return False
        known = self.flow.knows(new)
        if known:
            self.ids = msgspec.structs.replace(self.ids, learnt=self.ids.learnt | {new})
        elif self.flow.tolerant:
            self.ids = msgspec.structs.replace(self.ids, hopeless=self.ids.hopeless | {new})
        return known or self.flow.tolerant


def has_ended(query: StreamingQuery) -> bool:
    """Whether a query holds neither its name nor its checkpoint any more.

    It is inactive a moment before that, and another one would be refused in between.
    """
    execution = query._jsq
    return execution.sparkSession().streams().get(str(query.id)) is None


def _job_settings(config: ConnectorConfig, settings: Settings) -> tuple[Job, Settings, str]:
    given = {key.replace(".", "_"): value for key, value in config.under("job.").items()}
    every = given.pop("every_ms", "")
    wanted = job(given.pop("name"))
    own = msgspec.structs.replace(
        settings, job_name=config.name, tolerant=config.tolerant, **_fields(config, given)
    )
    return wanted, own, every


def _fields(config: ConnectorConfig, given: dict[str, str]) -> dict[str, str]:
    unknown = [key for key in given if key not in Settings.__struct_fields__]
    if unknown:
        names = {f"job.{key.replace('_', '.')}": "is no setting of a job" for key in unknown}
        raise BadConfig(config.name, names)
    return given
