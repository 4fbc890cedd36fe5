"""Answers what the page asks about topics, off the event loop and within bounds."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from headwater.api.topics import (
    Message,
    SubjectVersions,
    Topic,
    TopicCluster,
    TopicPartition,
)
from headwater.errors import RegistryRefused, UnknownKafkaCluster
from headwater.openlineage.times import format_moment
from headwater.server.ingest.scrubbing import Scrubber
from headwater.server.topics.broker import Broker
from headwater.server.topics.kafka_clusters import KafkaCluster

_AT_ONCE = 4  # who asks more waits: a broker that is away must not hold up the server
_MOST = 200  # messages in one answer
Answer = TypeVar("Answer")


class _One:
    """A cluster with its registry."""

    def __init__(self, cluster: KafkaCluster, scrubber: Scrubber) -> None:
        # An HTTP client takes a third of a second to import: those without a cluster do without.
        from headwater.server.topics.decoding import Decoder  # noqa: PLC0415
        from headwater.server.topics.versions import Schemas  # noqa: PLC0415

        self.cluster, self.broker = cluster, Broker(cluster)
        self.schemas = Schemas(cluster) if cluster.registry else None
        self.decoder = Decoder(self.schemas.registry if self.schemas else None, scrubber)


class Topics:
    """The Kafka clusters that the server was told of."""

    def __init__(self, clusters: tuple[KafkaCluster, ...], scrubber: Scrubber) -> None:
        self._all = {cluster.name: _One(cluster, scrubber) for cluster in clusters}
        self._pool = ThreadPoolExecutor(_AT_ONCE, "topics")

    def clusters(self) -> list[TopicCluster]:
        """The clusters, without the options that may hold secrets."""
        return [
            TopicCluster(name, one.cluster.servers, one.schemas is not None)
            for name, one in self._all.items()
        ]

    async def topics(self, cluster: str) -> tuple[list[Topic], str | None]:
        """The topics of a cluster, and why there is nothing of the registry's, if so.

        Raises: UnknownKafkaCluster, KafkaUnreachable.
        """
        return await self._away(_listed, self._one(cluster))

    async def topic(
        self, cluster: str, name: str
    ) -> tuple[list[TopicPartition], list[SubjectVersions], str | None]:
        """A topic's partitions and schemas.

        Raises: UnknownKafkaCluster, UnknownTopic, KafkaUnreachable.
        """
        return await self._away(_described, self._one(cluster), name)

    async def messages(self, cluster: str, name: str, count: int) -> list[Message]:
        """The last messages of each partition of a topic, the newest first.

        Raises: UnknownKafkaCluster, UnknownTopic, KafkaUnreachable.
        """
        return await self._away(_peeked, self._one(cluster), name, count)

    async def messages_at(
        self, cluster: str, name: str, partition: int, offsets: list[int]
    ) -> list[Message]:
        """The messages at some offsets of a partition, as far as they are still there.

        Raises: UnknownKafkaCluster, UnknownTopic, KafkaUnreachable.
        """
        return await self._away(_picked, self._one(cluster), name, partition, offsets)

    def servers(self, cluster: str) -> list[str]:
        """The addresses by which lineage may know a cluster."""
        return self._one(cluster).cluster.servers.split(",")

    def close(self) -> None:
        """Let go of connections."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for one in self._all.values():
            if one.schemas:
                one.schemas.close()

    def _one(self, cluster: str) -> _One:
        if cluster not in self._all:
            raise UnknownKafkaCluster(cluster, [*self._all])
        return self._all[cluster]

    async def _away(self, work: Callable[..., Answer], *given: Any) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)


def _listed(one: _One) -> tuple[list[Topic], str | None]:
    topics = one.broker.topics()
    held = one.broker.partitions(topics)
    problem, subjects = None, {}
    if one.schemas:
        try:
            subjects = one.schemas.of_topics([*topics])
        except RegistryRefused as error:
            problem = error.message
    found = [
        Topic(
            name,
            count,
            sum(part.next - part.first for part in held[name]),
            name.startswith("_"),
            subjects.get(name, []),
        )
        for name, count in sorted(topics.items())
    ]
    return found, problem


def _described(
    one: _One, name: str
) -> tuple[list[TopicPartition], list[SubjectVersions], str | None]:
    partitions = one.broker.topic(name)
    if not one.schemas:
        return partitions, [], None
    try:
        return partitions, one.schemas.of_topic(name), None
    except RegistryRefused as error:
        return partitions, [], error.message


def _peeked(one: _One, name: str, count: int) -> list[Message]:
    partitions = one.broker.topic(name)
    each = max(1, min(count, _MOST // max(1, len(partitions))))
    found = one.broker.last(name, partitions, each)
    found.sort(key=lambda raw: (raw.timestamp()[1], raw.offset()), reverse=True)
    return [_message(one, raw) for raw in found[:_MOST]]


def _picked(one: _One, name: str, partition: int, offsets: list[int]) -> list[Message]:
    held = next((part for part in one.broker.topic(name) if part.id == partition), None)
    found = one.broker.at(name, held, offsets[:_MOST]) if held else []
    return [_message(one, raw) for raw in found]


def _message(one: _One, raw: Any) -> Message:
    return Message(
        partition=raw.partition(),
        offset=raw.offset(),
        at=_moment(raw.timestamp()[1]),
        key=one.decoder.told(raw.key()),
        value=one.decoder.told(raw.value()),
        headers=one.decoder.headers(raw.headers()),
    )


def _moment(millis: int) -> str | None:
    """A message's time; its producer may have said anything."""
    try:
        return format_moment(millis * 1000) if millis > 0 else None
    except (OverflowError, ValueError, OSError):
        return None
