"""What a dataset is, by where it is stored: a topic, a table, files, or just a dataset."""

import re
from collections.abc import Iterable
from enum import StrEnum


class DatasetKind(StrEnum):
    """What people call a dataset."""

    TABLE = "table"
    TOPIC = "topic"
    FILES = "files"
    DATASET = "dataset"


_TOPICS = re.compile(r"(kafka|pulsar|kinesis|eventhubs?|pubsub|amqp|mqtt|nats)\b")
_FILES = re.compile(r"(s3[an]?|gs|gcs|abfss?|wasbs?|adl|oss|cos|hdfs|webhdfs|dbfs|file|local)\b")
_DATABASES = re.compile(r"(bigquery|snowflake|arn:aws:glue|unitycatalog)\b")
_WAREHOUSE = re.compile(r"warehouse|iceberg|\.db/", re.IGNORECASE)


def is_catalog(namespace: str) -> bool:
    """Whether names of a namespace are those of tables in a catalog or database."""
    if _TOPICS.match(namespace) or _FILES.match(namespace):
        return False
    return "://" in namespace or bool(_DATABASES.match(namespace))


def dataset_kind(namespace: str, name: str, aliases: Iterable[str] = ()) -> DatasetKind:
    """The kind of a dataset; `aliases` are the namespaces of its other names."""
    if _TOPICS.match(namespace):
        return DatasetKind.TOPIC
    if is_catalog(namespace):
        return DatasetKind.TABLE
    if _FILES.match(namespace):
        is_table = any(map(is_catalog, aliases)) or _WAREHOUSE.search(f"{namespace}/{name}")
        return DatasetKind.TABLE if is_table else DatasetKind.FILES
    return DatasetKind.TABLE if any(map(is_catalog, aliases)) else DatasetKind.DATASET
