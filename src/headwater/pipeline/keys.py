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
        if self.type in (Type.INT, Type.LONG) and not (
            _WHOLE.fullmatch(text) and int(text) >= self.least
        ):
            return f"{value[:64]!r} is not a whole number from {self.least} up"
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
_WHOLE = re.compile(r"[0-9]{1,18}")  # str.isdigit takes superscripts for digits
_RATE = re.compile(r"0(\.\d+)?|1(\.0+)?|\.\d+")
_HIGH, _LOW = Importance.HIGH, Importance.LOW
_REGISTERED = ("AvroConverter", "JsonSchemaConverter", "ProtobufConverter", "JsonConverter")

_ANY = (
    ConfigKey("name", "Name of the connector.", importance=_HIGH),
    ConfigKey(
        "connector.class", "Class of the connector.", Type.CLASS, required=True, importance=_HIGH
    ),
    ConfigKey(
        "tasks.max",
        "Parallelism of a query; ignored by the S3 sink.",
        Type.INT,
        "1",
        least=1,
    ),
)
_TRANSFORMS = (
    ConfigKey(
        "transforms",
        "Aliases of the transforms, in their order.",
        Type.LIST,
        "",
        group="Transforms",
    ),
    ConfigKey("transforms.NAME.type", "Class of a transform.", Type.CLASS, group="Transforms"),
    ConfigKey(
        "transforms.*",
        "Settings of a transform; those of `OpenLineageLifecycleSmt` configure the lineage.",
        group="Transforms",
    ),
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
        "Columns of plain JSON, for example `id STRING, price DOUBLE`.",
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
        "`all` skips records that cannot be decoded; with `none` they fail the connector.",
        default="none",
        choices=("none", "all"),
        group="Errors",
    ),
    ConfigKey(
        "errors.deadletterqueue.topic.name",
        "Topic for records that cannot be decoded; needs `errors.tolerance=all`.",
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
        "consumer.override.*",
        "Settings of the Kafka consumer, such as `auto.offset.reset`.",
        importance=_LOW,
        group="Kafka",
    ),
)
_GENERATOR = (
    *_ANY,
    *_TRANSFORMS,
    ConfigKey(
        "genv.TOPIC.FIELD.with", "Expression for the field.", importance=_HIGH, group="Records"
    ),
    ConfigKey(
        "genv.TOPIC.FIELD.matching",
        "`TOPIC.value.FIELD`: one of the latest values of another topic's field.",
        group="Records",
    ),
    ConfigKey(
        "genk.TOPIC.FIELD.with",
        "Expression for a field of a key that is a struct.",
        group="Records",
    ),
    ConfigKey(
        "genk.TOPIC.FIELD.matching",
        "As `genv.TOPIC.FIELD.matching`, for a field of the key.",
        importance=_LOW,
        group="Records",
    ),
    ConfigKey("genkp.TOPIC.with", "Expression for a key that is a single value.", group="Records"),
    ConfigKey(
        "attrv.TOPIC.FIELD.null.rate",
        "Fraction of null values, 0 to 1; makes the field optional.",
        Type.DOUBLE,
        "0",
        group="Records",
    ),
    ConfigKey(
        "rows.per.second",
        "Records per second of each topic, for load tests; an addition of Headwater.",
        Type.INT,
        least=1,
        group="Rate",
    ),
    ConfigKey("topic.TOPIC.rows.per.second", "Rate of one topic.", Type.INT, least=1, group="Rate"),
    ConfigKey(
        "global.throttle.ms", "Pause between records, in milliseconds.", Type.LONG, group="Rate"
    ),
    ConfigKey("topic.TOPIC.throttle.ms", "Pause of one topic.", Type.LONG, group="Rate"),
    ConfigKey(
        "global.history.records.max",
        "Number of recent values that `matching` chooses from.",
        Type.LONG,
        "1000",
        group="Rate",
    ),
    ConfigKey(
        "topic.TOPIC.history.records.max", "That number for one topic.", Type.LONG, group="Rate"
    ),
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
        "Replicas of topics that are created.",
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
        "topics.dir",
        "Folder in the bucket; empty for the top of the bucket.",
        default="topics",
        group="S3",
    ),
    ConfigKey(
        "s3.region",
        "Accepted and ignored: Spark's configuration names the store.",
        importance=_LOW,
        group="S3",
    ),
    ConfigKey(
        "store.url",
        "Accepted and ignored: Spark's configuration names the store.",
        importance=_LOW,
        group="S3",
    ),
    ConfigKey("storage.class", "Accepted and ignored.", Type.CLASS, importance=_LOW, group="S3"),
    ConfigKey("schema.compatibility", "Accepted and ignored.", importance=_LOW, group="S3"),
    ConfigKey(
        "format.class",
        "Format of the objects; timestamps are ISO text in JSON.",
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
    ConfigKey(
        "flush.size",
        "Maximum number of records in an object.",
        Type.INT,
        "100000",
        least=1,
        group="S3",
    ),
    ConfigKey(
        "rotate.schedule.interval.ms",
        "Time between writes, in milliseconds.",
        Type.LONG,
        "10000",
        group="S3",
    ),
    ConfigKey(
        "partitioner.class",
        "How objects are divided into folders.",
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
        "partition.field.name", "Fields of the `FieldPartitioner`.", Type.LIST, group="Folders"
    ),
    ConfigKey(
        "path.format",
        "Folder format of the `TimeBasedPartitioner`, such as `YYYY/MM/dd`.",
        group="Folders",
    ),
    ConfigKey(
        "partition.duration.ms",
        "Accepted and ignored.",
        Type.LONG,
        importance=_LOW,
        group="Folders",
    ),
    ConfigKey("timezone", "Time zone of time-based folders.", default="UTC", group="Folders"),
    ConfigKey("locale", "Accepted and ignored.", importance=_LOW, group="Folders"),
    ConfigKey(
        "timestamp.extractor",
        "Time of a record: `Record` (its timestamp in Kafka) or `RecordField`.",
        default="Record",
        group="Folders",
    ),
    ConfigKey("timestamp.field", "Field of the extractor `RecordField`.", group="Folders"),
)
_ICEBERG = (
    *_SINK,
    ConfigKey(
        "iceberg.tables",
        "Tables to write.",
        Type.LIST,
        required=True,
        importance=_HIGH,
        group="Iceberg",
    ),
    ConfigKey(
        "iceberg.catalog",
        "Name of the catalog; else `ICEBERG_CATALOG_NAME`, else `demo_ib`.",
        group="Iceberg",
    ),
    ConfigKey("iceberg.catalog.*", "Settings of the catalog.", group="Iceberg"),
    ConfigKey(
        "iceberg.control.commit.interval-ms",
        "Time between commits, in milliseconds.",
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
    ConfigKey(
        "iceberg.tables.auto-create-props.*",
        "Properties of tables that are created.",
        group="Tables",
    ),
    ConfigKey(
        "iceberg.tables.evolve-schema-enabled",
        "Add new columns to a table.",
        Type.BOOLEAN,
        "false",
        group="Tables",
    ),
    ConfigKey(
        "iceberg.tables.default-partition-by",
        "Partitioning of tables that are created.",
        group="Tables",
    ),
    ConfigKey("iceberg.table.TABLE.partition-by", "Partitioning of one table.", group="Tables"),
    ConfigKey(
        "iceberg.table.TABLE.schema",
        "Columns of a table that is created; an addition of Headwater.",
        group="Tables",
    ),
    ConfigKey(
        "iceberg.tables.route-field",
        "Field that chooses the table; without it each topic goes to the table with its name.",
        group="Tables",
    ),
    ConfigKey(
        "iceberg.table.TABLE.route-regex",
        "Values of the route field that go to this table.",
        group="Tables",
    ),
)
_JOB = (
    *_ANY,
    ConfigKey("job.name", "Name of the job.", required=True, importance=_HIGH, group="Job"),
    ConfigKey(
        "job.every.ms",
        "Time after which a batch job runs again, in milliseconds.",
        Type.LONG,
        group="Job",
    ),
    ConfigKey(
        "job.keep.seconds",
        "Age of snapshots that `maintenance` expires, in seconds; a day by default.",
        Type.LONG,
        least=1,
        group="Job",
    ),
    ConfigKey(
        "errors.tolerance",
        "`all` skips records that cannot be decoded; with `none` they fail the connector.",
        default="none",
        choices=("none", "all"),
        group="Errors",
    ),
    *(
        ConfigKey(
            f"job.{field.replace('_', '.')}", f"Takes the place of `{variables[0]}`.", group="Job"
        )
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
