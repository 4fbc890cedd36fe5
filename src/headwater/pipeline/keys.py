"""The keys of a connector's configuration: one schema for each class, with types and defaults.

Validation, `/connector-plugins/CLASS/config`, the page's form and the documentation come from it.
Capitals in a name stand for any text, `*` for any rest.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from headwater.pipeline.settings import names as settings_names


class Kind(StrEnum):
    """What a connector does."""

    GENERATOR = "generator"
    S3_SINK = "s3-sink"
    ICEBERG_SINK = "iceberg-sink"
    JOB = "job"


class Type(StrEnum):
    """A type of Kafka Connect's configurations."""

    STRING = "STRING"
    INT = "INT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105


class Importance(StrEnum):
    """How much a key matters to most users."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class ConfigKey(msgspec.Struct, frozen=True):
    """One key: what it is called, what it takes, and what it means."""

    name: str
    doc: str
    type: Type = Type.STRING
    default: str | None = None
    required: bool = False
    least: int = 0
    choices: tuple[str, ...] = ()
    importance: Importance = Importance.MEDIUM
    group: str = "Common"

    @property
    def is_pattern(self) -> bool:
        """Whether the name stands for many keys."""
        return _PLACEHOLDER.search(self.name) is not None

    def matches(self, key: str) -> bool:
        """Whether a key of a configuration is this one."""
        return key == self.name if not self.is_pattern else bool(self._pattern().fullmatch(key))

    def fault(self, value: str) -> str:
        """What is wrong with a value; empty when nothing is, or when a reference gives it."""
        text = value.strip()
        if "${" in value:
            return ""
        if self.type in (Type.INT, Type.LONG) and not (text.isdigit() and int(text) >= self.least):
            return f"{value!r} is not a whole number from {self.least} up"
        if self.type is Type.BOOLEAN and text.lower() not in ("true", "false"):
            return f"{value!r} is neither true nor false"
        if self.type is Type.DOUBLE and not _RATE.fullmatch(text):
            return f"{value!r} is not a number from 0 to 1"
        if self.choices and text.rpartition(".")[2] not in self.choices:
            return f"{value!r} is none of {', '.join(self.choices)}"
        return ""

    def _pattern(self) -> re.Pattern[str]:
        return _patterns[self.name]


_PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|\*")
_RATE = re.compile(r"0(\.\d+)?|1(\.0+)?|\.\d+")
_HIGH, _LOW = Importance.HIGH, Importance.LOW
_REGISTERED = ("AvroConverter", "JsonSchemaConverter", "ProtobufConverter", "JsonConverter")

_ANY = (
    ConfigKey("name", "Name of the connector.", importance=_HIGH),
    ConfigKey(
        "connector.class", "Class of the connector.", Type.CLASS, required=True, importance=_HIGH
    ),
    ConfigKey("tasks.max", "Parallelism of a query.", Type.INT, "1", least=1),
)
_TRANSFORMS = (
    ConfigKey("transforms", "Transforms, in their order.", Type.LIST, "", group="Transforms"),
    ConfigKey("transforms.NAME.type", "Class of a transform.", Type.CLASS, group="Transforms"),
    ConfigKey("transforms.*", "Settings of a transform.", group="Transforms"),
    ConfigKey(
        "key.converter",
        "Accepted and ignored: keys are not decoded.",
        Type.CLASS,
        importance=_LOW,
        group="Converters",
    ),
    ConfigKey("key.converter.*", "Accepted and ignored.", importance=_LOW, group="Converters"),
    ConfigKey(
        "value.converter",
        "Format of the records.",
        Type.CLASS,
        "AvroConverter",
        choices=_REGISTERED,
        importance=_HIGH,
        group="Converters",
    ),
    ConfigKey(
        "value.converter.schema.registry.url",
        "Address of the schema registry.",
        importance=_HIGH,
        group="Converters",
    ),
    ConfigKey(
        "value.converter.basic.auth.user.info",
        "USER:PASSWORD for the schema registry.",
        Type.PASSWORD,
        group="Converters",
    ),
    ConfigKey(
        "value.converter.schema.ddl",
        "Columns of plain JSON, e.g. `id STRING, price DOUBLE`.",
        group="Converters",
    ),
    ConfigKey(
        "value.converter.message.name",
        "The message of a Protobuf schema that is the record.",
        importance=_LOW,
        group="Converters",
    ),
    ConfigKey("value.converter.*", "Accepted and ignored.", importance=_LOW, group="Converters"),
)
_SINK = (
    *_ANY,
    ConfigKey("topics", "Topics to read.", Type.LIST, required=True, importance=_HIGH),
    *_TRANSFORMS,
    ConfigKey(
        "errors.tolerance",
        "Whether records that cannot be decoded are skipped.",
        default="none",
        choices=("none", "all"),
        group="Errors",
    ),
    ConfigKey(
        "errors.deadletterqueue.topic.name",
        "Topic for records that cannot be decoded.",
        group="Errors",
    ),
    ConfigKey(
        "errors.deadletterqueue.topic.replication.factor",
        "Replicas of the dead-letter topic.",
        Type.INT,
        "1",
        least=1,
        importance=_LOW,
        group="Errors",
    ),
    ConfigKey(
        "consumer.override.*", "Settings of the Kafka consumer.", importance=_LOW, group="Kafka"
    ),
)
_GENERATOR = (
    *_ANY,
    *_TRANSFORMS,
    ConfigKey("genv.TOPIC.FIELD.with", "Expression of a field.", importance=_HIGH, group="Records"),
    ConfigKey(
        "genv.TOPIC.FIELD.matching",
        "TOPIC.value.FIELD: a recent value of another topic's field.",
        group="Records",
    ),
    ConfigKey("genk.TOPIC.FIELD.with", "Expression of a field of the key.", group="Records"),
    ConfigKey("genk.TOPIC.FIELD.matching", "As for values.", importance=_LOW, group="Records"),
    ConfigKey("genkp.TOPIC.with", "Expression of a key that is one value.", group="Records"),
    ConfigKey(
        "attrv.TOPIC.FIELD.null.rate",
        "Part of a field's values that is null, 0 to 1.",
        Type.DOUBLE,
        "0",
        group="Records",
    ),
    ConfigKey(
        "rows.per.second", "Records a second, for each topic.", Type.INT, least=1, group="Rate"
    ),
    ConfigKey("topic.TOPIC.rows.per.second", "Of one topic.", Type.INT, least=1, group="Rate"),
    ConfigKey("global.throttle.ms", "Pause between records.", Type.LONG, group="Rate"),
    ConfigKey("topic.TOPIC.throttle.ms", "Of one topic.", Type.LONG, group="Rate"),
    ConfigKey(
        "global.history.records.max",
        "How far back `matching` looks.",
        Type.LONG,
        "1000",
        group="Rate",
    ),
    ConfigKey("topic.TOPIC.history.records.max", "Of one topic.", Type.LONG, group="Rate"),
    ConfigKey(
        "producer.override.*", "Settings of the Kafka producer.", importance=_LOW, group="Kafka"
    ),
    ConfigKey(
        "topic.creation.default.partitions",
        "Partitions of topics that are created.",
        Type.INT,
        "1",
        least=1,
        group="Kafka",
    ),
    ConfigKey(
        "topic.creation.default.replication.factor",
        "Their replicas.",
        Type.INT,
        "1",
        least=1,
        group="Kafka",
    ),
)
_S3 = (
    *_SINK,
    ConfigKey("s3.bucket.name", "Bucket.", required=True, importance=_HIGH, group="S3"),
    ConfigKey(
        "topics.dir", "Folder in the bucket; empty for its top.", default="topics", group="S3"
    ),
    ConfigKey("s3.region", "Accepted and ignored.", importance=_LOW, group="S3"),
    ConfigKey("store.url", "Accepted and ignored.", importance=_LOW, group="S3"),
    ConfigKey("storage.class", "Accepted and ignored.", Type.CLASS, importance=_LOW, group="S3"),
    ConfigKey("schema.compatibility", "Accepted and ignored.", importance=_LOW, group="S3"),
    ConfigKey(
        "format.class",
        "Format of the objects.",
        Type.CLASS,
        "JsonFormat",
        choices=("JsonFormat", "ParquetFormat", "AvroFormat"),
        importance=_HIGH,
        group="S3",
    ),
    ConfigKey(
        "avro.codec",
        "Compression of Avro objects.",
        default="snappy",
        choices=("null", "deflate", "snappy", "bzip2"),
        importance=_LOW,
        group="S3",
    ),
    ConfigKey("flush.size", "Most records in an object.", Type.INT, "100000", least=1, group="S3"),
    ConfigKey(
        "rotate.schedule.interval.ms", "Time between writes.", Type.LONG, "10000", group="S3"
    ),
    ConfigKey(
        "partitioner.class",
        "How objects are put into folders.",
        Type.CLASS,
        "DefaultPartitioner",
        choices=(
            "DefaultPartitioner",
            "FieldPartitioner",
            "TimeBasedPartitioner",
            "DailyPartitioner",
            "HourlyPartitioner",
        ),
        group="Folders",
    ),
    ConfigKey(
        "partition.field.name", "Fields of the FieldPartitioner.", Type.LIST, group="Folders"
    ),
    ConfigKey("path.format", "Folders of the TimeBasedPartitioner.", group="Folders"),
    ConfigKey(
        "partition.duration.ms",
        "Accepted and ignored.",
        Type.LONG,
        importance=_LOW,
        group="Folders",
    ),
    ConfigKey("timezone", "Time zone of folders.", default="UTC", group="Folders"),
    ConfigKey("locale", "Accepted and ignored.", importance=_LOW, group="Folders"),
    ConfigKey(
        "timestamp.extractor",
        "The moment of a record: Record or RecordField.",
        default="Record",
        group="Folders",
    ),
    ConfigKey("timestamp.field", "Field of the extractor RecordField.", group="Folders"),
)
_ICEBERG = (
    *_SINK,
    ConfigKey(
        "iceberg.tables", "Tables.", Type.LIST, required=True, importance=_HIGH, group="Iceberg"
    ),
    ConfigKey("iceberg.catalog", "Name of the catalog.", default="demo_ib", group="Iceberg"),
    ConfigKey("iceberg.catalog.*", "Settings of the catalog.", group="Iceberg"),
    ConfigKey(
        "iceberg.control.commit.interval-ms",
        "Time between commits.",
        Type.LONG,
        "300000",
        group="Iceberg",
    ),
    ConfigKey("iceberg.control.topic", "Accepted and ignored.", importance=_LOW, group="Iceberg"),
    ConfigKey(
        "iceberg.tables.auto-create-enabled",
        "Create missing tables.",
        Type.BOOLEAN,
        "true",
        group="Tables",
    ),
    ConfigKey("iceberg.tables.auto-create-props.*", "Properties of new tables.", group="Tables"),
    ConfigKey(
        "iceberg.tables.evolve-schema-enabled",
        "Add new columns to a table.",
        Type.BOOLEAN,
        "false",
        group="Tables",
    ),
    ConfigKey("iceberg.tables.default-partition-by", "Partitioning of new tables.", group="Tables"),
    ConfigKey("iceberg.table.TABLE.partition-by", "Of one table.", group="Tables"),
    ConfigKey("iceberg.table.TABLE.schema", "Columns of a new table.", group="Tables"),
    ConfigKey("iceberg.tables.route-field", "Field that chooses the table.", group="Tables"),
    ConfigKey("iceberg.table.TABLE.route-regex", "Its values for a table.", group="Tables"),
)
_JOB = (
    *_ANY,
    ConfigKey("job.name", "The job.", required=True, importance=_HIGH, group="Job"),
    ConfigKey("job.every.ms", "Pause after which a batch job runs again.", Type.LONG, group="Job"),
    ConfigKey(
        "job.keep.seconds",
        "Age of snapshots that `maintenance` expires.",
        Type.LONG,
        least=1,
        group="Job",
    ),
    ConfigKey(
        "errors.tolerance",
        "Whether records that cannot be decoded are skipped.",
        default="none",
        choices=("none", "all"),
        group="Errors",
    ),
    *(
        ConfigKey(f"job.{field.replace('_', '.')}", f"As {variables[0]}.", group="Job")
        for field, variables in settings_names().items()
        if field != "keep_seconds"
    ),
)

SCHEMAS: Mapping[Kind, tuple[ConfigKey, ...]] = {
    Kind.GENERATOR: _GENERATOR,
    Kind.S3_SINK: _S3,
    Kind.ICEBERG_SINK: _ICEBERG,
    Kind.JOB: _JOB,
}


def find(kind: Kind, key: str) -> ConfigKey | None:
    """The schema of a key of a configuration; none if the class does not know it."""
    return next((one for one in SCHEMAS[kind] if one.matches(key)), None)


def faults(kind: Kind, values: Mapping[str, str]) -> dict[str, str]:
    """The keys that are missing or have a value that their type does not allow."""
    missing = {
        one.name: "is missing"
        for one in SCHEMAS[kind]
        if one.required and not values.get(one.name, "").strip()
    }
    wrong = dict(_wrong(kind, values))
    return missing | wrong


def _wrong(kind: Kind, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        schema = find(kind, key)
        if schema is not None and value.strip() and (fault := schema.fault(value)):
            yield key, fault


def _compiled(name: str) -> re.Pattern[str]:
    text = _PLACEHOLDER.sub("\0", name)
    return re.compile(re.escape(text).replace("\0", ".+"))


_patterns = {
    one.name: _compiled(one.name) for keys in SCHEMAS.values() for one in keys if one.is_pattern
}
