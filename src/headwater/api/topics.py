"""Kafka clusters and their topics."""

from typing import Any

from headwater.api.base import Answer


class TopicCluster(Answer):
    """A Kafka cluster as the server was told of it."""

    name: str
    servers: str
    has_registry: bool


class Subject(Answer):
    """A subject of a schema registry, and how many versions it has; none when that is unknown."""

    name: str
    versions: int | None


class Topic(Answer):
    """A topic in the list."""

    name: str
    partitions: int
    messages: int
    is_internal: bool
    subjects: list[Subject]
    node_id: str | None = None


class TopicPage(Answer):
    """The topics of a cluster, and what could not be read of them."""

    topics: list[Topic]
    problem: str | None


class TopicPartition(Answer):
    """A partition: the first offset that is held, and the one that comes next."""

    id: int
    first: int
    next: int


class SchemaField(Answer):
    """A field of a schema; one inside another is named with dots."""

    name: str
    type: str


class SchemaVersion(Answer):
    """A version of a subject."""

    version: int
    schema_id: int
    kind: str
    text: str
    fields: list[SchemaField]


class SubjectVersions(Answer):
    """A subject with its versions, the newest first."""

    name: str
    versions: list[SchemaVersion]


class TopicDetail(Answer):
    """A topic with its partitions and schemas."""

    name: str
    node_id: str | None
    partitions: list[TopicPartition]
    subjects: list[SubjectVersions]
    problem: str | None


class MessagePart(Answer):
    """A key or a value: how it was read, and what it says without secrets."""

    format: str
    value: Any
    schema_id: int | None = None
    size: int = 0
    is_cut: bool = False
    note: str | None = None


class Message(Answer):
    """A message as it can be shown."""

    partition: int
    offset: int
    at: str | None
    key: MessagePart | None
    value: MessagePart | None
    headers: dict[str, Any]


class MessagePage(Answer):
    """Messages of a topic."""

    messages: list[Message]
