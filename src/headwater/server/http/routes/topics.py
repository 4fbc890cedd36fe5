"""Topics: what the Kafka clusters of the server hold, for those who may read."""

import asyncio
from typing import Any
from urllib.parse import unquote

from litestar import Controller, Request, Response, get

from headwater.api.topics import MessagePage, Topic, TopicCluster, TopicDetail, TopicPage
from headwater.errors import HeadwaterError, KafkaUnreachable, UnknownKafkaCluster, UnknownTopic
from headwater.openlineage.names import dataset_id
from headwater.server.http.access import READS_ALL
from headwater.server.http.common import answer
from headwater.server.http.errors import BadRequest
from headwater.server.http.parameters import EachLimit, Offsets, PartitionOrAll, PathText
from headwater.server.lineage.run_io import dataset_names
from headwater.server.lineage.view import StoreView
from headwater.server.service import Service

_CODES: dict[type[HeadwaterError], int] = {
    UnknownKafkaCluster: 404,
    UnknownTopic: 404,
    KafkaUnreachable: 502,
}


def _told(_: Request[Any, Any, Any], error: HeadwaterError) -> Response[Any]:
    code = _CODES[type(error)]
    return answer({"code": code, "message": error.message, "hint": error.hint}, code)


class KafkaTopics(Controller):
    """Topics with their schemas and last messages."""

    tags = ("Topics",)
    path = "/api/v1/kafka"
    exception_handlers = dict.fromkeys(_CODES, _told)

    @get("/", opt=READS_ALL)
    async def list_kafka_clusters(self, service: Service) -> Response[list[TopicCluster]]:
        """List the Kafka clusters of the server."""
        return answer(service.topics.clusters())

    @get("/{cluster:str}/topics", opt=READS_ALL)
    async def list_topics(self, service: Service, cluster: PathText) -> Response[TopicPage]:
        """List the topics of a cluster with partitions, messages and subjects."""
        cluster = unquote(cluster)
        topics, problem = await service.topics.topics(cluster)
        await asyncio.to_thread(_link, service, cluster, topics)
        return answer(TopicPage(topics, problem))

    @get("/{cluster:str}/topics/{topic:str}", opt=READS_ALL)
    async def get_topic(
        self, service: Service, cluster: PathText, topic: PathText
    ) -> Response[TopicDetail]:
        """Get the partitions and schema versions of a topic, newest first."""
        cluster, topic = unquote(cluster), unquote(topic)
        partitions, subjects, problem = await service.topics.topic(cluster, topic)
        shape = Topic(topic, len(partitions), 0, False, [])
        await asyncio.to_thread(_link, service, cluster, [shape])
        return answer(TopicDetail(topic, shape.node_id, partitions, subjects, problem))

    @get("/{cluster:str}/topics/{topic:str}/messages", opt=READS_ALL)
    async def list_messages(
        self,
        service: Service,
        cluster: PathText,
        topic: PathText,
        limit: EachLimit = 10,
        partition: PartitionOrAll = -1,
        offset: Offsets = None,
    ) -> Response[MessagePage]:
        """Get the latest messages of each partition, decoded, with secrets masked.

        With `partition` and `offset`, which may be repeated, those messages as far as they exist.
        """
        place = unquote(cluster), unquote(topic)
        if (partition < 0) != (offset is None):
            raise BadRequest(detail="partition and offset must be given together")
        if offset is None:
            found = await service.topics.messages(*place, limit)
        else:
            found = await service.topics.messages_at(*place, partition, offset)
        return answer(MessagePage(found))


def _link(service: Service, cluster: str, topics: list[Topic]) -> None:
    servers = service.topics.servers(cluster)
    with service.open_view() as view:
        for topic in topics:
            topic.node_id = topic_node(view, servers, topic.name)


def topic_node(view: StoreView, servers: list[str], topic: str) -> str | None:
    """The node of the graph that a topic is, where lineage knows it."""
    ids = (view.dataset_id(f"kafka://{server}", topic) for server in servers)
    found = next((number for number in ids if number is not None), None)
    return None if found is None else dataset_id(*dataset_names(view, {found})[found])
