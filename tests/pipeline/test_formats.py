"""Records in topics: schemas that change, other formats, and records that are bad."""

import json

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.capture.spark.streams import NEW_SCHEMA, needs_schema
from headwater.pipeline.formats import avro, wire
from headwater.pipeline.kafka import ensure_topics
from headwater.schemas.registry import Registry, Schema, SchemaId
from pipeline.lab import Lab

BASE = [{"name": "id", "type": "string"}, {"name": "price", "type": "double"}]


def record(*more: dict[str, object]) -> str:
    return json.dumps({"type": "record", "name": "thing", "fields": [*BASE, *more]})


def encoded(spark: SparkSession, schema: str, schema_id: SchemaId, row: str) -> bytes:
    value = avro.encode(F.struct("*"), schema_id, schema)
    return bytes(spark.sql(f"SELECT {row}").select(value).collect()[0][0])


def iceberg(topic: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "iceberg-sink",
        "topics": topic,
        "iceberg.tables": f"default.{topic}",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.control.commit.interval-ms": "500",
        **more,
    }


def s3(topic: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "s3-sink",
        "topics": topic,
        "s3.bucket.name": "made-when-missing",
        "rotate.schedule.interval.ms": "500",
        **more,
    }


def test_every_version_is_read_with_its_own_schema(spark: SparkSession) -> None:
    old = Schema(SchemaId(7), record({"name": "gone", "type": "int"}))
    new = Schema(SchemaId(9), record({"name": "size", "type": "long"}))
    raw = [
        encoded(spark, old.text, old.id, "'a' AS id, 1.5D AS price, 3 AS gone"),
        encoded(spark, new.text, new.id, "'b' AS id, 2.5D AS price, 4L AS size"),
        b"\x00\x00\x00\x00\x09\x01",
        b"poison",
    ]
    frame = spark.createDataFrame([(bytearray(one),) for one in raw], "value binary")
    value = avro.decode(
        F.col("value"), [old, new], avro.reader_of([old, new]), F.raise_error(F.lit("no"))
    )
    rows = frame.select(value.alias("v")).select("v.*").collect()
    assert [(r.id, r.price, r["size"], r.gone, r[wire.MARK]) for r in rows] == [
        ("a", 1.5, None, 3, True),
        ("b", 2.5, 4, None, True),
        (None, None, None, None, None),
        (None, None, None, None, None),
    ]


def test_the_plan_in_an_error_is_not_taken_for_a_new_schema() -> None:
    plan = f"Project [raise_error(concat({NEW_SCHEMA}, cast(conv(hex(value), 16, 10) AS string)))]"
    assert not needs_schema(f"a record cannot be decoded at topic x, partition 0\n{plan}")
    assert needs_schema(f"{NEW_SCHEMA}17 at topic x, partition 0\n{plan}")


def test_no_beginning_of_a_record_fails_a_query_that_tolerates_bad_ones(
    spark: SparkSession,
) -> None:
    """Every first byte, and every first byte of an id that no schema can have, at each length."""
    schema = Schema(SchemaId(7), record())
    heads = [bytes([first, 0, 0, 0, 8]) for first in range(1, 256)]
    heads += [bytes([0, first, 255, 255, 255]) for first in range(128, 256)]
    raw = [
        head[:length] + b"abc" for head in heads for length in range(1, 6) if head[0] or length > 1
    ]
    raw += [b"", b"\0", b"\0\0", bytes(4)]
    frame = spark.createDataFrame([(bytearray(one),) for one in raw], "value binary")
    value = avro.decode(
        F.col("value"), [schema], avro.reader_of([schema]), F.raise_error(F.lit("no"))
    )
    assert frame.select(value.alias("v")).where(f"v.{wire.MARK} IS NOT NULL").count() == 0


def test_a_schema_that_gains_and_loses_a_field_stops_nothing(lab: Lab) -> None:
    registry = Registry(lab.settings.registry)
    ensure_topics(lab.settings.bootstrap, ["things"])
    lab.start("things-sink", iceberg("things"))
    versions = [
        (record(), "{} AS id, 1.0D AS price"),
        (
            record({"name": "size", "type": ["null", "long"], "default": None}),
            "{} AS id, 2.0D AS price, 5L AS size",
        ),
        (record(), "{} AS id, 3.0D AS price"),
        (
            record({"name": "note", "type": ["null", "string"], "default": None}),
            "{} AS id, 4.0D AS price, 'n' AS note",
        ),
    ]
    for number, (schema, row) in enumerate(versions):
        schema_id = registry.register("things-value", schema)
        raw = encoded(lab.spark, schema, schema_id, row.format(f"'{number}'"))
        lab.produce("things", [raw])
        lab.wait(lambda count=number + 1: _size(lab, "demo_ib.default.things") == count)
    rows = lab.table("demo_ib.default.things").orderBy("id").collect()
    assert [(r.id, r.price, r["size"], r.note) for r in rows] == [
        ("0", 1.0, None, None),
        ("1", 2.0, 5, None),
        ("2", 3.0, None, None),
        ("3", 4.0, None, "n"),
    ]


def test_a_bad_record_fails_its_connector_with_its_place(lab: Lab) -> None:
    ensure_topics(lab.settings.bootstrap, ["poisoned"])
    schema_id = Registry(lab.settings.registry).register("poisoned-value", record())
    good = encoded(lab.spark, record(), schema_id, "'a' AS id, 1.0D AS price")
    lab.produce("poisoned", [good, b"poison", good])
    strict = lab.start("strict", s3("poisoned", **{"topics.dir": "strict"}))
    with pytest.raises(AssertionError, match="topic poisoned, partition 0, offset 1"):
        lab.wait(lambda: False)
    strict.stop()
    lab.hosted.remove(strict)

    unknown = b"\x00\x00\x0f\xff\xff" + good[5:]
    beyond = b"\x00\xff\xff\xff\x00" + good[5:]  # no id of a schema is that large
    lab.produce("poisoned", [unknown, beyond])
    letters = {
        "topics.dir": "tolerant",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "letters",
    }
    lab.start("tolerant", s3("poisoned", **letters))
    # A query that fails and goes on may send a letter again: Kafka's sink is at-least-once.
    lab.wait(lambda: lab.values("letters") == {b"poison", unknown, beyond})
    lab.wait(lambda: _objects(lab, "s3a://made-when-missing/tolerant/poisoned") == 2)


def test_json_with_a_schema_goes_through_a_topic_and_back(lab: Lab) -> None:
    generator = {
        "connector.class": "generator",
        "value.converter": "io.confluent.connect.json.JsonSchemaConverter",
        "genv.notes.id.with": "#{Internet.uuid}",
        "genv.notes.size.with": "#{number.number_between '1','9'}",
        "genv.notes.at.with": "#{date.past '5','SECONDS'}",
        "rows.per.second": "20",
    }
    source = lab.start("notes-source", generator)
    sink = {"value.converter": "io.confluent.connect.json.JsonSchemaConverter"}
    parquet = {"format.class": "ParquetFormat", "partitioner.class": "x.DailyPartitioner"}
    lab.start("notes-sink", s3("notes", **sink, **parquet))
    lab.wait(lambda: lab.count("notes") >= 20)
    source.stop()
    lab.hosted.remove(source)
    count = lab.count("notes")
    path = "s3a://made-when-missing/topics/notes"
    lab.wait(lambda: _objects(lab, path, "parquet") == count)
    found = lab.spark.read.parquet(path)
    assert (
        found.where("size between 1 and 8 and id is not null and at is not null").count() == count
    )
    assert dict(found.dtypes)["at"] == "timestamp"
    assert {"year", "month", "day"} <= set(found.columns)


def _size(lab: Lab, table: str) -> int:
    return lab.table(table).count() if lab.spark.catalog.tableExists(table) else 0


def _objects(lab: Lab, path: str, kind: str = "json") -> int:
    try:
        return lab.spark.read.format(kind).load(path).count()
    except AnalysisException:  # there is no object yet
        return 0
