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
from headwater.pipeline.targets import DEAD_LETTERS, Target
from headwater.pipeline.transforms import transformed
from headwater.schemas.registry import SchemaId

# Where a query without a checkpoint begins, by partition.
Positions = Mapping[int, int]


class PipelineContext(msgspec.Struct, frozen=True):
    """Where flows run: the session, the services, and the seed of generated records."""

    spark: SparkSession
    settings: Settings
    seed: str = ""


class Start(msgspec.Struct, frozen=True):
    """What a flow is started with: known schemas, its checkpoint, and its first positions."""

    ids: Ids
    checkpoint: str
    positions: Positions | None = None


class Flow(msgspec.Struct, frozen=True):
    """A query's name, what identifies it, and how it is started; none while it has to wait."""

    name: str
    start: Callable[[Start], StreamingQuery | None]
    target: Target = Target()
    knows: Callable[[SchemaId], bool] = lambda _schema_id: False
    tolerant: bool = False


class TopicReader(msgspec.Struct, frozen=True):
    """How a sink reads one topic."""

    context: PipelineContext
    config: ConnectorConfig
    converter: Converter
    topic: str

    def raw(self, positions: Positions | None = None, *, split: bool = True) -> DataFrame:
        """The topic's records, as bytes; a partition is read by several tasks if it is `split`."""
        bootstrap = self.context.settings.need("bootstrap", "Kafka")
        options = {**_consumer(self.config), **self.config.registry_options()}
        if positions is not None:
            options["startingOffsets"] = kafka.starting(bootstrap, self.topic, positions)
        tasks = self.config.number("tasks.max") if split else 1
        return kafka.read_stream(
            self.context.spark, bootstrap, self.topic, tasks=tasks, options=options
        )

    def values(self, start: Start, *, split: bool = True) -> DataFrame | None:
        """The topic's records, decoded and transformed; none before its first schema."""
        decode = self.converter.decoder(self.topic, start.ids)
        if decode is None:
            return None
        raw = self.raw(start.positions, split=split)
        frame = decoded(raw, decode, tolerant=self.config.tolerant)
        return transformed(frame, self.config)

    def dead_letters(self) -> list[Flow]:
        """The flow that keeps what could not be decoded, if the configuration wants one."""
        letters = self.config.get("errors.deadletterqueue.topic.name")
        if not letters:
            return []
        bootstrap = self.context.settings.need("bootstrap", "Kafka")
        replicas = self.config.number("errors.deadletterqueue.topic.replication.factor")

        def start(start: Start) -> StreamingQuery | None:
            decode = self.converter.decoder(self.topic, start.ids)
            if decode is None:
                return None
            kafka.ensure_topics(bootstrap, [letters], replicas=replicas)
            records = undecodable(self.raw(start.positions), decode)
            writer = kafka.write_stream(records, bootstrap)
            writer = writer.option("topic", letters).option("includeHeaders", "true")
            return writer.queryName(name).option("checkpointLocation", start.checkpoint).start()

        name = f"{self.config.name}.{self.topic}.dead-letters"
        target = Target(self.topic, f"{DEAD_LETTERS}{letters}")
        return [Flow(name, start, target, self.converter.knows, tolerant=True)]


def flow_name(config: ConnectorConfig, part: str, parts: int) -> str:
    """A query's name: the connector's own when it is the only one."""
    return config.name if parts == 1 else f"{config.name}.{part}"


def _consumer(config: ConnectorConfig) -> dict[str, str]:
    given = config.under("consumer.override.")
    start = given.pop("auto.offset.reset", "earliest")
    return {"startingOffsets": start, **{f"kafka.{key}": value for key, value in given.items()}}
