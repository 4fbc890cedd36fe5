"""The topics that a generator's configuration describes, and their rows."""

from fractions import Fraction

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.errors import BadConfig
from headwater.pipeline.config import ConnectorConfig
from headwater.pipeline.generator.draw import Draw
from headwater.pipeline.generator.expressions import expression

_DEFAULT_RATE = Fraction(1000)  # rows/s, where neither a throttle nor a rate is given


class Field(msgspec.Struct, frozen=True):
    """A field: an expression, or the field of another topic whose values it takes."""

    name: str
    text: str = ""
    other_topic: str = ""
    other_field: str = ""
    null_rate: float = 0.0


class Topic(msgspec.Struct, frozen=True):
    """A topic's fields, rows a second, and how far back others look into it."""

    name: str
    fields: tuple[Field, ...]
    key: tuple[Field, ...]
    rate: Fraction
    history: int

    @property
    def every(self) -> int:
        """Of how many rows of a stream one is taken, for rates below one a second."""
        return max(1, int(1 / self.rate))


def topics(config: ConnectorConfig) -> dict[str, Topic]:
    """The topics of a generator, by name."""
    names = {_split(key)[0] for key in config.values if key.startswith("genv.")}
    return {
        name: Topic(
            name,
            _fields(config, f"genv.{name}."),
            _fields(config, f"genk.{name}.") or _primitive(config, f"genkp.{name}."),
            _rate(config, name, len(names)),
            config.number(f"topic.{name}.history.records.max")
            or config.number("global.history.records.max"),
        )
        for name in sorted(names)
    }


def stream(spark: SparkSession, topic: Topic, tasks: int) -> DataFrame:
    """Row numbers and moments at a topic's rate, which go on where a checkpoint ended."""
    rows = (
        spark.readStream.format("rate")
        .option("rowsPerSecond", max(1, round(topic.rate)))
        .option("numPartitions", tasks)
        .load()
    )
    if topic.every == 1:
        return rows
    kept = rows.where(F.col("value") % topic.every == 0)
    return kept.select("timestamp", (F.col("value") / topic.every).cast("bigint").alias("value"))


def records(rows: DataFrame, name: str, known: dict[str, Topic], seed: str) -> DataFrame:
    """A topic's records for numbered rows: topic, timestamp, key and value."""
    topic = known[name]
    row, moment = F.col("value"), F.col("timestamp")
    value = F.struct(*(_value(topic, f, known, seed, row, moment) for f in topic.fields))
    key = [_value(topic, f, known, f"{seed}/key", row, moment) for f in topic.key]
    return rows.select(
        F.lit(name).alias("topic"),
        moment.alias("timestamp"),
        (F.struct(*key) if key else F.lit(None).cast("string")).alias("key"),
        value.alias("value"),
    )


def check(config: ConnectorConfig) -> None:
    """See that every expression is understood; needs a Spark session.

    Raises:
        BadConfig: one is not.

    """
    faults = {}
    for key, text in config.values.items():
        if key.startswith(("genv.", "genk.", "genkp.")) and key.endswith(".with"):
            try:
                expression(text, Draw("", F.lit(0)), F.current_timestamp())
            except ValueError as error:
                faults[key] = str(error)
    if faults:
        raise BadConfig(config.name, faults)


def _split(key: str) -> tuple[str, str, str]:
    rest, _, how = key.partition(".")[2].rpartition(".")
    topic, _, field = rest.rpartition(".")
    return topic, field, how


def _fields(config: ConnectorConfig, prefix: str) -> tuple[Field, ...]:
    found = []
    for key in config.values:
        if not key.startswith(prefix) or key.count(".") != prefix.count(".") + 1:
            continue
        _, name, how = _split(key)
        topic, _, field = config.get(key).partition(".value.")
        nulls = float(config.get(f"attrv.{prefix[5:]}{name}.null.rate", "0"))
        if how == "with":
            found.append(Field(name, config.get(key), null_rate=nulls))
        else:
            found.append(Field(name, "", topic, field, nulls))
    return tuple(found)


def _primitive(config: ConnectorConfig, prefix: str) -> tuple[Field, ...]:
    text = config.get(f"{prefix}with")
    return (Field("key", text),) if text else ()


def _rate(config: ConnectorConfig, topic: str, count: int) -> Fraction:
    own = config.get(f"topic.{topic}.rows.per.second") or config.get("rows.per.second")
    if own:
        return Fraction(int(own))
    throttle = config.number(f"topic.{topic}.throttle.ms")
    if throttle:
        return Fraction(1000, throttle)
    # One record of one of the topics after each pause, as the original does.
    throttle = config.number("global.throttle.ms")
    return Fraction(1000, throttle * count) if throttle else _DEFAULT_RATE


def _value(
    topic: Topic, field: Field, known: dict[str, Topic], seed: str, row: Column, moment: Column
) -> Column:
    draw = Draw(f"{seed}/{topic.name}/{field.name}", row)
    if field.null_rate:
        always = msgspec.structs.replace(field, null_rate=0.0)
        value = _value(topic, always, known, seed, row, moment)
        kept = draw.other("null").unit() >= F.lit(field.null_rate)
        return F.when(kept, value).alias(field.name)
    if not field.other_topic:
        return expression(field.text, draw, moment).alias(field.name)
    other = known[field.other_topic]
    # The other topic's rows are functions of their numbers: one of its latest is made again.
    share = float(other.rate / topic.rate)
    newest = F.floor(row * F.lit(share))
    back = draw.whole(0, max(0, other.history - 1))
    number = F.greatest(F.lit(0), newest - back).cast("bigint")
    target = next(one for one in other.fields if one.name == field.other_field)
    return _value(other, target, known, seed, number, moment).alias(field.name)
