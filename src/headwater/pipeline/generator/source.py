"""The generator connector: made-up records into topics, in one query."""

import functools

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.query import StreamingQuery

from headwater.pipeline import kafka
from headwater.pipeline.config import ConnectorConfig
from headwater.pipeline.flows import Flow, PipelineContext, Start
from headwater.pipeline.formats.converters import Converter, converter_of
from headwater.pipeline.generator.topics import Topic, check, records, stream, topics
from headwater.pipeline.transforms import transformed

_TRIGGER = "1 second"


def flows(config: ConnectorConfig, context: PipelineContext) -> list[Flow]:
    """The one flow of a generator."""
    check(config)
    known = topics(config)
    converter = converter_of(config, context.settings)
    bootstrap = context.settings.need("bootstrap", "Kafka")

    def start(begin: Start) -> StreamingQuery:
        kafka.ensure_topics(
            bootstrap,
            list(known),
            partitions=config.number("topic.creation.default.partitions"),
            replicas=config.number("topic.creation.default.replication.factor"),
        )
        frames = [_encoded(config, context, converter, known, topic) for topic in known.values()]
        writer = kafka.write_stream(functools.reduce(DataFrame.union, frames), bootstrap)
        if len(known) == 1:  # as an option too, where those who observe the query look for it
            writer = writer.option("topic", next(iter(known)))
        writer = writer.options(**config.registry_options())
        for key, value in config.under("producer.override.").items():
            writer = writer.option(f"kafka.{key}", value)
        writer = writer.queryName(config.name).trigger(processingTime=_TRIGGER)
        return writer.option("checkpointLocation", begin.checkpoint).start()

    return [Flow(config.name, start)]


def _encoded(
    config: ConnectorConfig,
    context: PipelineContext,
    converter: Converter,
    known: dict[str, Topic],
    topic: Topic,
) -> DataFrame:
    rows = stream(context.spark, topic, config.number("tasks.max"))
    frame = transformed(records(rows, topic.name, known, context.seed), config)
    optional = {field.name for field in topic.fields if field.null_rate}
    struct = _required(frame.schema["value"].dataType, optional)
    encode = converter.encoder(topic.name, struct)
    return frame.select(
        F.col("topic"),
        _key(frame).alias("key"),
        encode(F.col("value")).alias("value"),
    )


def _required(kind: T.DataType, optional: set[str]) -> T.StructType:
    """Other fields without null: an expression always has a value, whatever Spark infers."""
    assert isinstance(kind, T.StructType)  # noqa: S101 (records() makes a struct)
    return T.StructType(
        [T.StructField(f.name, f.dataType, nullable=f.name in optional) for f in kind.fields]
    )


def _key(frame: DataFrame) -> Column:
    kind = frame.schema["key"].dataType
    key = F.col("key")
    return (F.to_json(key) if isinstance(kind, T.StructType) else key.cast("string")).cast("binary")
