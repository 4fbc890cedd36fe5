"""A hosted connector: its queries, started, watched, and built again when a schema is new."""

import logging
from collections.abc import Sequence

import msgspec
from pyspark.sql.streaming.query import StreamingQuery

from headwater.errors import BadConfig, HeadwaterError
from headwater.pipeline.batches import BatchTask
from headwater.pipeline.config import ConnectorConfig, Kind
from headwater.pipeline.flows import Flow, Site
from headwater.pipeline.formats import wire
from headwater.pipeline.formats.converters import Ids
from headwater.pipeline.generator import source
from headwater.pipeline.generator.topics import check as check_topics
from headwater.pipeline.jobs.catalog import job
from headwater.pipeline.journal import Journal
from headwater.pipeline.secrets import scrubbed
from headwater.pipeline.sinks import iceberg, s3
from headwater.pipeline.states import State, told
from headwater.pipeline.transforms import check as check_transforms
from headwater.schemas.registry import SchemaId

_log = logging.getLogger(__name__)


def _job(
    config: ConnectorConfig, site: Site, checkpoints: str, journal: Journal
) -> "list[Task | BatchTask]":
    given = {key.replace(".", "_"): value for key, value in config.under("job.").items()}
    every = given.pop("every_ms", "")
    wanted = job(given.pop("name"))
    settings = msgspec.structs.replace(
        site.settings, job_name=config.name, tolerant=config.tolerant, **given
    )
    place = Site(site.spark, settings, site.seed)
    if wanted.run:
        return [BatchTask(config.name, wanted.run, place, int(every or 0), journal)]
    if every:
        raise BadConfig(config.name, {"job.every.ms": f"{wanted.name} is no batch job"})
    return [Task(wanted.flow(place), f"{checkpoints}/{wanted.name}", journal)]


_PLANS = {
    Kind.GENERATOR: source.flows,
    Kind.S3_SINK: s3.flows,
    Kind.ICEBERG_SINK: iceberg.flows,
}


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


class Task:
    """One flow and the query that runs it now."""

    def __init__(self, flow: Flow, checkpoint: str, journal: Journal | None = None) -> None:
        self.flow, self.checkpoint = flow, checkpoint
        self.journal = journal or Journal()
        self.ids = Ids()
        self.query: StreamingQuery | None = None
        self.trace = ""

    @property
    def state(self) -> State:
        """Running, also while it waits for its first schema, or failed."""
        return State.FAILED if self.trace else State.RUNNING

    def start(self) -> None:
        """Start, or go on from the checkpoint."""
        self.trace = ""
        try:
            self.query = self.flow.start(self.ids, self.checkpoint)
        except Exception as error:  # whatever a service or Spark says, the neighbours go on
            self.trace = told(error)
            self.journal.error(f"{self.flow.name} cannot start: {self.trace}")
        if self.query is not None:
            self.journal.info(f"{self.flow.name} runs as {self.query.runId}")

    def poll(self) -> None:
        """See how the query is, and mend what can be mended."""
        if self.trace:
            return
        if self.query is None:
            self.start()
        elif not self.query.isActive:
            self._ended()

    def stop(self) -> None:
        """End the query; its checkpoint stays."""
        if self.query is not None:
            self.query.stop()
            self.query = None
            self.journal.info(f"{self.flow.name} is stopped")

    def _ended(self) -> None:
        assert self.query is not None  # noqa: S101 (poll asks only about a query that was)
        error = self.query.exception()
        message = str(error) if error else "the query ended by itself"
        new = wire.unknown_id(message)
        if new is None or not self._learns(new):
            self.trace = message
            self.journal.error(f"{self.flow.name} failed: {message}")
            return
        _log.info("%s continues with schema id %s", self.flow.name, new)
        self.journal.info(f"{self.flow.name} found a new schema, id {new}, and continues with it")
        self.query = None
        self.start()

    def _learns(self, new: SchemaId) -> bool:
        if new in self.ids.learnt | self.ids.hopeless:
            return False
        try:
            known = self.flow.knows(new)
        except HeadwaterError:
            return False
        if known:
            self.ids = msgspec.structs.replace(self.ids, learnt=self.ids.learnt | {new})
        elif self.flow.tolerant:
            self.ids = msgspec.structs.replace(self.ids, hopeless=self.ids.hopeless | {new})
        return known or self.flow.tolerant


class Hosted:
    """A connector's tasks."""

    def __init__(
        self,
        config: ConnectorConfig,
        site: Site,
        checkpoints: str,
        journal: Journal | None = None,
    ) -> None:
        self.config, self.site = config, site
        journal = journal or Journal()
        for key in config.unknown:
            _log.warning("%s: the key %s is not supported and has no effect", config.name, key)
            journal.warn(f"the key {key} is not supported and has no effect")
        self.tasks: Sequence[Task | BatchTask]
        if config.kind is Kind.JOB:
            self.tasks = _job(config, site, checkpoints, journal)
        else:
            plan = _PLANS[config.kind](config, site)
            self.tasks = [Task(flow, f"{checkpoints}/{flow.name}", journal) for flow in plan]

    def start(self) -> None:
        """Start every task in a scheduling pool of the connector's own."""
        self.site.spark.sparkContext.setLocalProperty("spark.scheduler.pool", self.config.name)
        for task in self.tasks:
            task.start()

    def restart(self, task: Task | BatchTask) -> None:
        """Build one task again; it goes on from its checkpoint."""
        self.site.spark.sparkContext.setLocalProperty("spark.scheduler.pool", self.config.name)
        task.stop()
        task.start()

    def poll(self) -> None:
        """See how every task is."""
        for task in self.tasks:
            task.poll()

    def stop(self) -> None:
        """End every task."""
        for task in self.tasks:
            task.stop()

    def trace(self, task: Task | BatchTask) -> str:
        """Why a task failed, without any secret."""
        return scrubbed(task.trace, self.config.values, self.config.environ)
