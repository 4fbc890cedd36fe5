"""Every job by its name."""

from collections.abc import Callable, Mapping

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headwater.errors import UnknownJob
from headwater.pipeline.flows import Flow, PipelineContext
from headwater.pipeline.formats.converters import Ids
from headwater.pipeline.jobs import (
    iceberg_ingestion,
    lineage_archive,
    maintenance,
    supplier_hours,
    supplier_windows,
)
from headwater.pipeline.settings import Settings
from headwater.pipeline.targets import TABLE, TOPIC, Target
from headwater.schemas.registry import Registry, SchemaId

Start = Callable[[SparkSession, Settings, Ids, str], StreamingQuery | None]


class Job(msgspec.Struct, frozen=True):
    """A job: what it does, and how it is started or run."""

    name: str
    about: str
    start: Start | None = None
    run: Callable[[SparkSession, Settings], None] | None = None
    target: Callable[[Settings], Target] = lambda _settings: Target()

    @property
    def kind(self) -> str:
        """Streaming or batch."""
        return "streaming" if self.start else "batch"

    def flow(self, context: PipelineContext) -> Flow:
        """A streaming job as a flow, so that a host can look after it."""
        start = self.start
        assert start is not None  # noqa: S101 (asked of streaming jobs only)
        spark, settings = context.spark, context.settings
        return Flow(
            settings.job_name or self.name,
            lambda begin: start(spark, settings, begin.ids, begin.checkpoint),
            self.target(settings),
            lambda schema_id: _knows(settings, schema_id),
            tolerant=settings.tolerant,
        )


def job(name: str) -> Job:
    """One job.

    Raises:
        UnknownJob: no job has that name.

    """
    if name not in JOBS:
        raise UnknownJob(name, list(JOBS))
    return JOBS[name]


def _knows(settings: Settings, schema_id: SchemaId) -> bool:
    return Registry(settings.registry).by_id(schema_id) is not None


def _topic(settings: Settings) -> Target:
    return Target("", f"{TOPIC}{settings.output_topic or supplier_windows.NAME}")


def _table(name: str) -> Callable[[Settings], Target]:
    return lambda settings: Target("", f"{TABLE}{settings.catalog}.{name}")


JOBS: Mapping[str, Job] = {
    one.name: one
    for one in (
        Job(
            supplier_windows.NAME,
            "orders → 5 s windows per supplier → topic supplier-stats",
            start=supplier_windows.start,
            target=_topic,
        ),
        Job(
            iceberg_ingestion.NAME,
            "orders → Iceberg default.orders",
            start=iceberg_ingestion.start,
            target=_table(iceberg_ingestion.TABLE),
        ),
        Job(
            supplier_hours.NAME,
            "latest day of default.orders → default.supplier_stats",
            run=supplier_hours.run,
            target=_table(supplier_hours.TABLE),
        ),
        Job(
            lineage_archive.NAME,
            "topic of OpenLineage events → Iceberg lineage.events",
            start=lineage_archive.start,
            target=_table(lineage_archive.TABLE),
        ),
        Job(
            maintenance.NAME,
            "small files of Iceberg tables compacted, old snapshots expired",
            run=maintenance.run,
        ),
    )
}
