"""Asks Kafka for the ends of topics, as Spark itself asks: with a read's own settings."""

from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.capture.spark.jvm import Java, private_field, scala_object_of, seq

Offsets = dict[tuple[str, str], int]  # by topic and partition

_PACKAGE = "org.apache.spark.sql.kafka010"
_GROUP = "headwater-offsets"
# A broker that was there a moment ago answers soon, or the answer is not worth waiting for.
_SECONDS = 10


class Ends(NamedTuple):
    """The first offset of each partition, and the one after the last."""

    earliest: Offsets
    latest: Offsets


def ends_of(relation: Java) -> Ends | None:
    """The ends of the topics that a relation of Kafka reads; None if they are not told."""
    try:
        reader = _reader(relation)
        try:
            none = scala_object_of(relation.getClass().getClassLoader(), "scala.None")
            return Ends(
                _offsets(reader.fetchEarliestOffsets()), _offsets(reader.fetchLatestOffsets(none))
            )
        finally:
            reader.close()
    except (Py4JError, PySparkException):
        return None


def _reader(relation: Java) -> Java:
    loader = relation.getClass().getClassLoader()
    provider = scala_object_of(loader, f"{_PACKAGE}.KafkaSourceProvider")
    readers = scala_object_of(loader, f"{_PACKAGE}.KafkaOffsetReader")
    settings = provider.kafkaParamsForDriver(private_field(relation, "specifiedKafkaParams"))
    for name in ("default.api.timeout.ms", "request.timeout.ms"):
        settings.putIfAbsent(name, str(_SECONDS * 1000))
    strategy, options = (private_field(relation, name) for name in ("strategy", "sourceOptions"))
    return readers.build(strategy, settings, options, _GROUP)


def _offsets(found: Java) -> Offsets:
    pairs = seq(found.toSeq())
    return {(str(p._1().topic()), str(p._1().partition())): int(p._2()) for p in pairs}
