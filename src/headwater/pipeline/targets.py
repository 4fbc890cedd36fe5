"""What a connector writes into: folders, tables and topics, each with one owner on a worker.

A target, with the topic that is read, is what identifies a task of a connector.
"""

import msgspec

from headwater.pipeline.config import ConnectorConfig, Kind
from headwater.pipeline.settings import Settings

TABLE, TOPIC, DEAD_LETTERS = "table:", "topic:", "dead-letters:"


class Target(msgspec.Struct, frozen=True):
    """A place that the records of one topic go to; the topic is empty where none is read."""

    topic: str = ""
    place: str = ""

    @property
    def key(self) -> str:
        """What identifies the task of a connector that writes here."""
        return f"{self.topic}>{self.place}"

    @classmethod
    def of(cls, key: str) -> "Target":
        """The target that a key names."""
        topic, _, place = key.partition(">")
        return cls(topic, place)

    @property
    def is_owned(self) -> bool:
        """Whether one connector alone may write here: dead letters of many may share a topic."""
        return bool(self.place) and not self.place.startswith(DEAD_LETTERS)


class Route(msgspec.Struct, frozen=True):
    """A topic's records, or those whose route field matches, into one table."""

    topic: str
    table: str
    field: str = ""
    pattern: str = ""


def targets(config: ConnectorConfig, settings: Settings) -> tuple[Target, ...]:
    """Every target of a connector, in the order of its tasks."""
    if config.kind is Kind.JOB:
        return ()
    if config.kind is Kind.GENERATOR:
        names = {
            key[5:].rpartition(".")[0].rpartition(".")[0] for key in config.under_keys("genv.")
        }
        return tuple(Target("", f"{TOPIC}{name}") for name in sorted(names))
    topics, letters = config.names("topics"), config.get("errors.deadletterqueue.topic.name")
    if config.kind is Kind.S3_SINK:
        found = [Target(topic, folder(config, topic)) for topic in topics]
    else:
        catalog = config.get("iceberg.catalog", settings.catalog)
        found = [Target(way.topic, f"{TABLE}{catalog}.{way.table}") for way in routes(config)]
    if letters:
        found += [Target(topic, f"{DEAD_LETTERS}{letters}") for topic in topics]
    return tuple(found)


def folder(config: ConnectorConfig, topic: str) -> str:
    """Where the S3 sink puts a topic's objects."""
    directory = config.get("topics.dir", "topics").strip("/")
    parts = (config.get("s3.bucket.name"), directory, topic)
    return "s3a://" + "/".join(part for part in parts if part)


def routes(config: ConnectorConfig) -> list[Route]:
    """Which topic goes into which table: by the route field, else by name, else all into one."""
    names, topics = config.names("iceberg.tables"), config.names("topics")
    field = config.get("iceberg.tables.route-field")
    if field:
        return [
            Route(topic, table, field, config.get(f"iceberg.table.{table}.route-regex", table))
            for topic in topics
            for table in names
        ]
    by_name = {table.rpartition(".")[2]: table for table in names}
    return [Route(topic, names[0] if len(names) == 1 else by_name[topic]) for topic in topics]
