"""Every job by its name."""

from collections.abc import Callable, Mapping

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headwater.errors import UnknownJob
from headwater.pipeline.flows import Flow, Site
from headwater.pipeline.formats.converters import Ids
from headwater.pipeline.jobs import (
    iceberg_ingestion,
    lineage_archive,
    maintenance,
    supplier_stats,
    supplier_windows,
)
from headwater.pipeline.settings import Settings
from headwater.schemas.registry import Registry, SchemaId

Start = Callable[[SparkSession, Settings, Ids, str], StreamingQuery | None]


class Job(msgspec.Struct, frozen=True):
    """A job: what it does, and how it is started or run."""

    name: str
    about: str
    start: Start | None = None
    run: Callable[[SparkSession, Settings], None] | None = None

    @property
    def kind(self) -> str:
        """Streaming or batch."""
        return "streaming" if self.start else "batch"

    def flow(self, site: Site) -> Flow:
        """A streaming job as a flow, so that a host can look after it."""
        start = self.start
        assert start is not None  # noqa: S101 (asked of streaming jobs only)
        return Flow(
            self.name,
            lambda ids, checkpoint: start(site.spark, site.settings, ids, checkpoint),
            lambda schema_id: _knows(site.settings, schema_id),
            tolerant=site.settings.tolerant,
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


JOBS: Mapping[str, Job] = {
    one.name: one
    for one in (
        Job(
            supplier_windows.NAME,
            "orders → 5 s windows per supplier → topic supplier-stats",
            start=supplier_windows.start,
        ),
        Job(
            iceberg_ingestion.NAME,
            "orders → Iceberg default.orders",
            start=iceberg_ingestion.start,
        ),
        Job(
            supplier_stats.NAME,
            "latest day of default.orders → default.supplier_stats",
            run=supplier_stats.run,
        ),
        Job(
            lineage_archive.NAME,
            "topic of OpenLineage events → Iceberg lineage.events",
            start=lineage_archive.start,
        ),
        Job(
            maintenance.NAME,
            "small files of Iceberg tables compacted, old snapshots expired",
            run=maintenance.run,
        ),
    )
}
