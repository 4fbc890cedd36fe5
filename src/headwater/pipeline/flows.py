"""A flow: one streaming query of a connector, which can be built again at any time."""

from collections.abc import Callable, Mapping

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headwater.pipeline import kafka
from headwater.pipeline.config import ConnectorConfig
from headwater.pipeline.decoding import decoded, undecodable
from headwater.pipeline.formats.converters import Converter, Ids
from headwater.pipeline.settings import Settings
from headwater.pipeline.transforms import transformed
from headwater.schemas.registry import SchemaId


class Site(msgspec.Struct, frozen=True):
    """Where flows run: the session, the services, and what tells this life of it from others."""

    spark: SparkSession
    settings: Settings
    seed: str = ""
    # Where a first start begins, by topic and partition, if not at the beginning.
    starts: Mapping[str, Mapping[int, int]] = {}


class Flow(msgspec.Struct, frozen=True):
    """A query's name and how it is started on a checkpoint; none while it has to wait."""

    name: str
    start: Callable[[Ids, str], StreamingQuery | None]
    knows: Callable[[SchemaId], bool] = lambda _schema_id: False
    tolerant: bool = False


class Intake(msgspec.Struct, frozen=True):
    """How a sink reads one topic."""

    site: Site
    config: ConnectorConfig
    converter: Converter
    topic: str

    def raw(self) -> DataFrame:
        """The topic's records, as bytes."""
        bootstrap = self.site.settings.need("bootstrap", "Kafka")
        options = {**_consumer(self.config), **self.config.registry_options()}
        if self.topic in self.site.starts:
            start = kafka.starting(bootstrap, self.topic, self.site.starts[self.topic])
            options["startingOffsets"] = start
        tasks = self.config.number("tasks.max", 1)
        return kafka.read_stream(
            self.site.spark, bootstrap, self.topic, tasks=tasks, options=options
        )

    def values(self, ids: Ids) -> DataFrame | None:
        """The topic's records, decoded and transformed; none before its first schema."""
        decode = self.converter.decoder(self.topic, ids)
        if decode is None:
            return None
        frame = decoded(self.raw(), decode, tolerant=self.config.tolerant)
        return transformed(frame, self.config)

    def dead_letters(self) -> list[Flow]:
        """The flow that keeps what could not be decoded, if the configuration wants one."""
        letters = self.config.get("errors.deadletterqueue.topic.name")
        if not letters:
            return []
        bootstrap = self.site.settings.need("bootstrap", "Kafka")

        def start(ids: Ids, checkpoint: str) -> StreamingQuery | None:
            decode = self.converter.decoder(self.topic, ids)
            if decode is None:
                return None
            kafka.ensure_topics(bootstrap, [letters])
            writer = kafka.write_stream(undecodable(self.raw(), decode), bootstrap)
            writer = writer.option("topic", letters).option("includeHeaders", "true")
            return writer.queryName(name).option("checkpointLocation", checkpoint).start()

        name = f"{self.config.name}.{self.topic}.dead-letters"
        return [Flow(name, start, self.converter.knows, tolerant=True)]


def flow_name(config: ConnectorConfig, part: str, parts: int) -> str:
    """A query's name: the connector's own when it is the only one."""
    return config.name if parts == 1 else f"{config.name}.{part}"


def _consumer(config: ConnectorConfig) -> dict[str, str]:
    given = config.under("consumer.override.")
    start = given.pop("auto.offset.reset", "earliest")
    return {"startingOffsets": start, **{f"kafka.{key}": value for key, value in given.items()}}
