"""Kafka at both ends of a query: topics made when missing, streams in and out."""

import json
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

_WAIT_S = 30
_WARNINGS = 4  # and worse: what a client writes on stderr


def _client(bootstrap: str) -> dict[str, Any]:
    return {"bootstrap.servers": bootstrap, "log_level": _WARNINGS}


def ensure_topics(
    bootstrap: str, names: list[str], *, partitions: int = 1, replicas: int = 1
) -> None:
    """Create those topics that do not exist yet."""
    admin = AdminClient(_client(bootstrap))
    known = admin.list_topics(timeout=_WAIT_S).topics
    new = [NewTopic(name, partitions, replicas) for name in names if name not in known]
    for made in (admin.create_topics(new) if new else {}).values():
        try:
            made.result(timeout=_WAIT_S)
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":  # someone was quicker
                raise


def read_stream(
    spark: SparkSession,
    bootstrap: str,
    topic: str,
    *,
    tasks: int = 1,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """A topic's records from the beginning, or from where the checkpoint says."""
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
    )
    if tasks > 1:
        reader = reader.option("minPartitions", tasks)
    for key, value in (options or {}).items():
        reader = reader.option(key, value)
    # A tombstone has no fields: sinks that only append have nothing to do with it.
    return reader.load().where(F.col("value").isNotNull())


def read_range(
    spark: SparkSession,
    bootstrap: str,
    topic: str,
    ranges: Mapping[int, tuple[int, int]],
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Records of a topic: by partition from the first offset up to the last, not included."""
    ends = ({topic: {str(part): one[side] for part, one in ranges.items()}} for side in (0, 1))
    reader = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("assign", json.dumps({topic: sorted(ranges)}))
        # What retention removes meanwhile is missing in the answer, which says so.
        .option("failOnDataLoss", "false")
    )
    for side, offsets in zip(("starting", "ending"), ends, strict=True):
        reader = reader.option(f"{side}Offsets", json.dumps(offsets))
    return reader.options(**(options or {})).load()


def write_stream(records: DataFrame, bootstrap: str) -> DataStreamWriter:
    """A writer of records with key, value and, unless it is an option, topic."""
    return records.writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)


def starting(bootstrap: str, topic: str, offsets: Mapping[int, int]) -> str:
    """Offsets to start from as Spark wants them; partitions that are not named start first."""
    told = {**first_offsets(bootstrap, topic), **offsets}
    return json.dumps({topic: {str(number): offset for number, offset in told.items()}})


def first_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """The offset of the first record, by partition."""
    return {number: ends[0] for number, ends in _ends(bootstrap, topic).items()}


def end_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """The offset after the last record, by partition."""
    return {number: ends[1] for number, ends in _ends(bootstrap, topic).items()}


def held_offsets(bootstrap: str, topic: str) -> dict[int, tuple[int, int]]:
    """The first offset and the one after the last, by partition; nothing of an unknown topic."""
    admin = AdminClient(_client(bootstrap))
    # Asked for by name, a topic that is not there might be made.
    known = topic in admin.list_topics(timeout=_WAIT_S).topics
    return _ends(bootstrap, topic) if known else {}


def first_since(bootstrap: str, topic: str, at_ms: int) -> dict[int, int]:
    """The offset of the first record of a time or later, by partition, where there is one."""
    consumer = Consumer({**_client(bootstrap), "group.id": "headwater-offsets"})
    try:
        numbers = consumer.list_topics(topic, timeout=_WAIT_S).topics[topic].partitions
        wanted = [TopicPartition(topic, number, at_ms) for number in numbers]
        found = consumer.offsets_for_times(wanted, timeout=_WAIT_S)
        return {one.partition: one.offset for one in found if one.offset >= 0}
    finally:
        consumer.close()


def is_compacted(bootstrap: str, topic: str) -> bool:
    """Whether a topic keeps the last record of each key only."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = AdminClient(_client(bootstrap))
    found = admin.describe_configs([resource], request_timeout=_WAIT_S)[resource].result()
    return "compact" in str(found["cleanup.policy"].value)


def _ends(bootstrap: str, topic: str) -> dict[int, tuple[int, int]]:
    consumer = Consumer({**_client(bootstrap), "group.id": "headwater-offsets"})
    try:
        found = consumer.list_topics(topic, timeout=_WAIT_S).topics[topic].partitions
        return {
            number: consumer.get_watermark_offsets(TopicPartition(topic, number), _WAIT_S)
            for number in found
        }
    finally:
        consumer.close()
