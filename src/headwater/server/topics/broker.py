"""Asks a Kafka broker for its topics, their offsets, and the last messages of one.

Nothing is left behind: no consumer group, no committed offset, no topic made by asking.
"""

import time
import uuid
from typing import Any

from headwater.api.topics import TopicPartition
from headwater.errors import KafkaExtraMissing, KafkaUnreachable, UnknownTopic
from headwater.server.topics.kafka_clusters import KafkaCluster

_PATIENCE = 5.0  # seconds that a broker has to answer
_LONGEST = 4.0  # seconds that reading messages may take, however many are wanted
_LARGEST = 16_000_000  # bytes of messages in one answer
_NEAR = 200  # offsets between two messages that are read together
_BUFFER = 4_000  # kilobytes that are fetched ahead at most


class Broker:
    """One cluster; it is connected to when it is first asked."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self._kafka = _library()
        self._admin: Any = None

    def topics(self) -> dict[str, int]:
        """The number of partitions of each topic.

        Raises: KafkaUnreachable.
        """
        return {name: len(one.partitions) for name, one in self._metadata().topics.items()}

    def partitions(self, topics: dict[str, int]) -> dict[str, list[TopicPartition]]:
        """What each partition holds.

        Raises: KafkaUnreachable.
        """
        spec = self._kafka.admin.OffsetSpec
        places = [(name, one) for name, count in topics.items() for one in range(count)]
        first, after = self._offsets(places, spec.earliest()), self._offsets(places, spec.latest())
        found: dict[str, list[TopicPartition]] = {name: [] for name in topics}
        for name, one in places:
            if (name, one) in first and (name, one) in after:
                found[name].append(TopicPartition(one, first[name, one], after[name, one]))
        return found

    def topic(self, name: str) -> list[TopicPartition]:
        """The partitions of one topic.

        Raises: KafkaUnreachable, UnknownTopic.
        """
        # Asked for by name, a topic that is not there might be made.
        topics = self.topics()
        if name not in topics:
            raise UnknownTopic(name, self._cluster.name)
        return self.partitions({name: topics[name]})[name]

    def last(self, topic: str, partitions: list[TopicPartition], count: int) -> list[Any]:
        """The last messages of each partition, as the client's library has them.

        Raises: KafkaUnreachable.
        """
        wanted = {one.id: max(one.first, one.next - count) for one in partitions}
        open_ = {one.id: one.next for one in partitions if wanted[one.id] < one.next}
        consumer = self._consumer()
        try:
            consumer.assign([self._kafka.TopicPartition(topic, one, wanted[one]) for one in open_])
            return self._read(consumer, open_)
        except self._kafka.KafkaException as error:
            raise self._unreachable(error) from None
        finally:
            consumer.close()

    def at(self, topic: str, partition: TopicPartition, offsets: list[int]) -> list[Any]:
        """The messages at some offsets of a partition, of those that are still there.

        Raises: KafkaUnreachable.
        """
        held = sorted(one for one in {*offsets} if partition.first <= one < partition.next)
        until, found, consumer = time.monotonic() + _LONGEST, list[Any](), self._consumer()
        try:
            for near in _near(held):
                if time.monotonic() > until:
                    break
                place = self._kafka.TopicPartition(topic, partition.id, near[0])
                consumer.assign([place])
                read = self._read(consumer, {partition.id: near[-1] + 1})
                found += [message for message in read if message.offset() in near]
            return found
        except self._kafka.KafkaException as error:
            raise self._unreachable(error) from None
        finally:
            consumer.close()

    def _read(self, consumer: Any, open_: dict[int, int]) -> list[Any]:
        """Read until every partition came to where it ended when it was asked, or time is up."""
        found: list[Any] = []
        until, room = time.monotonic() + _LONGEST, _LARGEST
        while open_ and room > 0 and (left := until - time.monotonic()) > 0:
            for message in consumer.consume(100, min(left, 0.2)):
                partition, error = message.partition(), message.error()
                if error is None and message.offset() < open_.get(partition, 0):
                    found.append(message)
                    room -= len(message)
                # Where a transaction's mark stands last, no message comes, but the end does.
                if error is not None and error.code() != self._kafka.KafkaError._PARTITION_EOF:
                    raise self._kafka.KafkaException(error)
                if error is not None or message.offset() + 1 >= open_.get(partition, 0):
                    open_.pop(partition, None)
        return found

    def _metadata(self) -> Any:
        try:
            return self._open().list_topics(timeout=_PATIENCE)
        except self._kafka.KafkaException as error:
            raise self._unreachable(error) from None

    def _offsets(self, places: list[tuple[str, int]], spec: Any) -> dict[tuple[str, int], int]:
        asked = {self._kafka.TopicPartition(name, one): spec for name, one in places}
        if not asked:
            return {}
        found = {}
        try:
            waiting = self._open().list_offsets(asked, request_timeout=_PATIENCE)
        except self._kafka.KafkaException as error:
            raise self._unreachable(error) from None
        for place, future in waiting.items():
            try:
                found[place.topic, place.partition] = future.result(_PATIENCE).offset
            except (self._kafka.KafkaException, TimeoutError):
                continue  # a partition without a leader: the others are told all the same
        return found

    def _open(self) -> Any:
        if self._admin is None:
            self._admin = self._kafka.admin.AdminClient(self._settings())
        return self._admin

    def _consumer(self) -> Any:
        return self._kafka.Consumer(
            {
                **self._settings(),
                "group.id": f"headwater-peek-{uuid.uuid4().hex}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "allow.auto.create.topics": False,
                "queued.max.messages.kbytes": _BUFFER,
                "fetch.message.max.bytes": 1_000_000,
            }
        )

    def _settings(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self._cluster.servers,
            "client.id": "headwater-page",
            "log_level": 0,  # what goes wrong is told to who asks
            "socket.connection.setup.timeout.ms": int(_PATIENCE * 1000),
            **self._cluster.options,
        }

    def _unreachable(self, error: Any) -> KafkaUnreachable:
        told = error.args[0]
        reason = told.str() if hasattr(told, "str") else str(told)
        return KafkaUnreachable(self._cluster.name, self._cluster.servers, reason)


def _near(offsets: list[int]) -> list[list[int]]:
    """Ascending offsets in groups that are read in one go."""
    groups: list[list[int]] = []
    for offset in offsets:
        if groups and offset - groups[-1][-1] <= _NEAR:
            groups[-1].append(offset)
        else:
            groups.append([offset])
    return groups


def _library() -> Any:
    try:
        import confluent_kafka  # noqa: PLC0415
        import confluent_kafka.admin  # noqa: PLC0415
    except ImportError:
        raise KafkaExtraMissing("topics") from None
    return confluent_kafka
