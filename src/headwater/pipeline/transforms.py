"""Kafka Connect's single message transforms, as functions on frames of key and value."""

from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.errors import BadConfig
from headwater.pipeline.config import ConnectorConfig

_CASTS = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float32": "float",
    "float64": "double",
    "boolean": "boolean",
    "string": "string",
}
_TARGETS: Mapping[str, Callable[[Column, str], Column]] = {
    "timestamp": lambda moment, _: moment,
    "date": lambda moment, _: moment.cast("date"),
    "time": lambda moment, _: F.date_format(moment, "HH:mm:ss.SSS"),
    "unix": lambda moment, _: F.unix_millis(moment),
    "string": F.date_format,
}

Options = Mapping[str, str]
Transform = Callable[[DataFrame, Options], DataFrame]


def transformed(frame: DataFrame, config: ConnectorConfig) -> DataFrame:
    """A frame of key and value after every transform of a connector, in their order."""
    for alias in config.names("transforms"):
        options = config.under(f"transforms.{alias}.")
        frame = _TRANSFORMS[_short(options["type"])](frame, options)
    return frame


def check(config: ConnectorConfig) -> None:
    """See that every transform is one that is known.

    Raises:
        BadConfig: one is not; passing over it would change the records.

    """
    faults = {
        key: f"{config.get(key)!r} is none of {', '.join(_TRANSFORMS)}"
        for alias in config.names("transforms")
        if _short(config.get(key := f"transforms.{alias}.type")) not in _TRANSFORMS
    }
    if faults:
        raise BadConfig(config.name, faults)


def _short(class_name: str) -> str:
    return class_name.rpartition(".")[2]


def _list(text: str) -> list[str]:
    return [one for part in text.split(",") if (one := part.strip())]


def _same(frame: DataFrame, _options: Options) -> DataFrame:
    return frame


def _value_to_key(frame: DataFrame, options: Options) -> DataFrame:
    fields = [F.col(f"value.{name}").alias(name) for name in _list(options["fields"])]
    return frame.withColumn("key", F.struct(*fields))


def _extract_key(frame: DataFrame, options: Options) -> DataFrame:
    return frame.withColumn("key", F.col(f"key.{options['field']}"))


def _timestamp(frame: DataFrame, options: Options) -> DataFrame:
    name = options["field"]
    kind = dict(frame.select("value.*").dtypes)[name]
    field = F.col(f"value.{name}")
    if kind == "bigint":
        field = F.timestamp_millis(field)
    elif kind == "string":
        form = options.get("format")
        field = F.to_timestamp(field, form) if form else F.to_timestamp(field)
    target = _TARGETS[options["target.type"].lower()](field, options.get("format", ""))
    return frame.withColumn("value", F.col("value").withField(name, target))


def _cast(frame: DataFrame, options: Options) -> DataFrame:
    value = F.col("value")
    for one in _list(options["spec"]):
        name, _, kind = one.partition(":")
        value = value.withField(name, F.col(f"value.{name}").cast(_CASTS[kind]))
    return frame.withColumn("value", value)


def _insert(frame: DataFrame, options: Options) -> DataFrame:
    value = F.col("value")
    for part in ("topic", "partition", "offset", "timestamp"):
        if f"{part}.field" in options:
            name = options[f"{part}.field"].rstrip("!?")
            value = value.withField(name, F.col(part))
    if "static.field" in options:
        value = value.withField(options["static.field"], F.lit(options["static.value"]))
    return frame.withColumn("value", value)


def _replace(frame: DataFrame, options: Options) -> DataFrame:
    names = [name for name, _ in frame.select("value.*").dtypes]
    kept = _list(options.get("include", "")) or names
    dropped = _list(options.get("exclude", ""))
    renamed = dict(one.split(":") for one in _list(options.get("renames", "")))
    fields = [
        F.col(f"value.{name}").alias(renamed.get(name, name))
        for name in names
        if name in kept and name not in dropped
    ]
    return frame.withColumn("value", F.struct(*fields))


_TRANSFORMS: Mapping[str, Transform] = {
    "OpenLineageLifecycleSmt": _same,  # lineage is capture's; its keys are ConnectorConfig.lineage
    "ValueToKey": _value_to_key,
    "ExtractField$Key": _extract_key,
    "TimestampConverter$Value": _timestamp,
    "Cast$Value": _cast,
    "InsertField$Value": _insert,
    "ReplaceField$Value": _replace,
}
