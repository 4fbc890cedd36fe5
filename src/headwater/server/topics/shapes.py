"""What the API tells of topics."""

from typing import Any

from msgspec import Struct


class ClusterShape(Struct, gc=False, rename="camel"):
    """A Kafka cluster as the server was told of it."""

    name: str
    servers: str
    has_registry: bool


class Subject(Struct, gc=False):
    """A subject of a schema registry, and how many versions it has; none when that is unknown."""

    name: str
    versions: int | None


class TopicShape(Struct, rename="camel"):
    """A topic in the list."""

    name: str
    partitions: int
    messages: int
    is_internal: bool
    subjects: list[Subject]
    node_id: str | None = None


class Partition(Struct, gc=False):
    """A partition: the first offset that is held, and the one that comes next."""

    id: int
    first: int
    next: int


class Field(Struct, gc=False):
    """A field of a schema; one inside another is named with dots."""

    name: str
    type: str


class Version(Struct, rename="camel"):
    """A version of a subject."""

    version: int
    schema_id: int
    kind: str
    text: str
    fields: list[Field]


class SubjectVersions(Struct):
    """A subject with its versions, the newest first."""

    name: str
    versions: list[Version]


class Told(Struct, rename="camel"):
    """A key or a value: how it was read, and what it says without secrets."""

    format: str
    value: Any
    schema_id: int | None = None
    size: int = 0
    is_cut: bool = False
    note: str | None = None


class Message(Struct, rename="camel"):
    """A message as it can be shown."""

    partition: int
    offset: int
    at: str | None
    key: Told | None
    value: Told | None
    headers: dict[str, Any]
