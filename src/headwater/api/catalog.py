"""Namespaces, sources, tags, statistics, and the server itself."""

from datetime import datetime

from msgspec import field

from headwater.api.base import Answer


class Namespace(Answer):
    """A namespace."""

    name: str
    created_at: datetime
    updated_at: datetime
    owner_name: str
    description: str | None
    is_hidden: bool


class NamespacePage(Answer):
    """Namespaces, by name."""

    namespaces: list[Namespace]


class Source(Answer):
    """Where data lives."""

    type: str
    name: str
    created_at: datetime
    updated_at: datetime
    connection_url: str | None
    description: str | None


class SourcePage(Answer):
    """Sources, by name."""

    sources: list[Source]


class Tag(Answer):
    """A label with a meaning."""

    name: str
    description: str | None


class TagPage(Answer):
    """Tags, by name."""

    tags: list[Tag]


class EventCounts(Answer):
    """Run events of each kind in an interval."""

    start_interval: datetime
    end_interval: datetime
    fail: int
    start: int
    complete: int
    abort: int


class AssetCounts(Answer):
    """How many jobs, datasets or sources there were by the end of an interval."""

    start_interval: datetime
    end_interval: datetime
    count: int


class Status(Answer):
    """The state and the version of the server."""

    status: str
    version: str


class SessionInfo(Answer):
    """Whether a key is required, and what the given one allows."""

    required: bool
    scopes: list[str] | None
    name: str | None


class AuditEntry(Answer):
    """An admin action or a deletion."""

    at: datetime
    who: str
    action: str
    target: str
    detail: str


class AuditPage(Answer):
    """Admin actions and deletions, latest first."""

    audit: list[AuditEntry]


class ConnectCluster(Answer):
    """A worker or a Kafka Connect cluster, as it is found now."""

    name: str
    url: str
    kind: str
    reachable: bool
    version: str | None = None


class Failure(Answer):
    """Why a request was refused; bad parameters have `errors`, and all else a `message`."""

    message: str = ""
    errors: list[str] = field(default_factory=list)
