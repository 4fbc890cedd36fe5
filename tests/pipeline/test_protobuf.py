"""Protobuf topics: written and read, by us and by Confluent's client, with schemas that change."""

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import types as T

from headwater.capture.datasets.registry import Registry as TopicSchemas
from headwater.errors import BadSchema
from headwater.pipeline.formats.protobuf.reading import Rows
from headwater.pipeline.formats.protobuf.types import struct_of
from headwater.pipeline.formats.protobuf.writing import numbers_of, schema_of
from headwater.pipeline.kafka import ensure_topics
from headwater.schemas.protobuf import compiled, messages
from headwater.schemas.registry import Registry, Schema, SchemaId
from pipeline.lab import Lab
from pipeline.renamed import renamed

CONVERTER = {"value.converter": "io.confluent.connect.protobuf.ProtobufConverter"}
RICH = """
syntax = "proto3";
package shop;
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/date.proto";
import "other/thing.proto";
message Line { string sku = 1; int32 count = 2; }
message Order {
  enum Kind { NEW = 0; OLD = 1; }
  string id = 1;
  optional double price = 2;
  google.protobuf.Timestamp at = 3;
  repeated Line lines = 4;
  Kind kind = 5;
  map<string, int64> sizes = 6;
  uint64 big = 7;
  google.type.Date day = 8;
  confluent.type.Decimal amount = 9 [(confluent.field_meta) = {
    params: [{key: "precision", value: "10"}, {key: "scale", value: "2"}]}];
  google.protobuf.StringValue note = 10;
  Order parent = 11;
  other.Thing thing = 12;
}
"""
OTHER = {"other/thing.proto": 'syntax = "proto3"; package other; message Thing { bool ok = 1; }'}


def schema(number: int, text: str) -> Schema:
    return Schema(SchemaId(number), text, "PROTOBUF", OTHER)


def message(text: str, at: int = 0) -> Any:
    return GetMessageClass(messages(compiled(schema(0, text)))[at])


def read(schemas: list[Schema], *records: bytes) -> list[dict[str, Any]]:
    rows = Rows({one.id: compiled(one) for one in schemas}, struct_of(schemas), "ok")
    return list(rows(pa.array(records, pa.binary())).to_pylist())


def test_every_kind_of_field_becomes_what_connect_makes_of_it() -> None:
    order = message(RICH, 1)(
        id="a",
        at={"seconds": 1, "nanos": 5000},
        lines=[{"sku": "s", "count": 2}],
        kind=1,
        sizes={"x": 1},
        big=2**64 - 1,
        day={"year": 2024, "month": 2, "day": 3},
        amount={"value": (1234).to_bytes(2, "big"), "scale": 2},
        note={"value": "n"},
        parent={"id": "p"},
        thing={"ok": True},
    )
    header = b"\0\0\0\0\7\2\2"  # the schema 7, and of its messages the second
    [row] = read([schema(7, RICH)], header + order.SerializeToString())
    assert row == {
        "id": "a",
        "price": None,
        "at": datetime.datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=datetime.UTC),
        "lines": [{"sku": "s", "count": 2}],
        "kind": "OLD",
        "sizes": [("x", 1)],
        "big": -1,
        "day": datetime.date(2024, 2, 3),
        "amount": Decimal("12.34"),
        "note": "n",
        "parent": '{"id": "p"}',
        "thing": {"ok": True},
        "ok": True,
    }


def test_a_record_that_does_not_fit_has_no_mark() -> None:
    far = message(RICH, 1)(at={"seconds": 2**62}).SerializeToString()
    bad = [
        b"poison",
        b"\0\0\0\0\7",
        b"\0\0\0\0\7\2\2\xff",
        b"\0\0\0\0\7\0",  # a Line, which is a part of orders only
        b"\0\0\0\0\7\2\2" + far,
    ]
    assert [row["ok"] for row in read([schema(7, RICH)], *bad)] == [None] * len(bad)


def test_fields_keep_their_numbers_over_versions_and_widen() -> None:
    old = schema(1, 'syntax = "proto3"; message m { string gone = 1; int32 n = 2; }')
    struct = T.StructType().add("n", "long", False).add("at", "timestamp").add("id", "string")
    text = schema_of(struct, "m", numbers_of([old]))
    assert "int64 n = 2;" in text
    assert "optional google.protobuf.Timestamp at = 3;" in text
    rows = read(
        [old, schema(2, text)],
        b"\0\0\0\0\1\0" + message(old.text)(gone="g", n=4).SerializeToString(),
        b"\0\0\0\0\2\0" + message(text)(n=2**40).SerializeToString(),
    )
    assert [(r["n"], r["gone"], r["id"]) for r in rows] == [(4, "g", None), (2**40, None, None)]


def test_a_schema_that_is_none_says_where_it_is_wrong() -> None:
    with pytest.raises(BadSchema, match=r"value\.proto:1:9: Expected message name"):
        compiled(schema(8, "message {"))
    with pytest.raises(BadSchema, match=r"nowhere\.proto"):
        compiled(schema(9, 'syntax = "proto3"; import "nowhere.proto"; message m {}'))


def test_every_order_of_a_protobuf_topic_is_everywhere_once(lab: Lab) -> None:
    source = renamed("orders-source", "pallets", **CONVERTER, **{"rows.per.second": "50"})
    made = lab.start(*source)
    lab.start(*renamed("orders-s3-sink", "pallets", **CONVERTER))
    lab.start(*renamed("orders-iceberg-sink", "pallets", **CONVERTER))
    stats = {"connector.class": "job", "job.name": "supplier-stats"}
    stats |= {"job.input.topic": "pallets", "job.output.topic": "pallet-stats"}
    lab.start("pallet-stats", stats)
    lab.wait(lambda: lab.count("pallets") >= 300)
    made.stop()
    lab.hosted.remove(made)
    count = lab.settled("pallets")
    table, place = "demo_ib.default.pallets", "s3a://fh-dev-bucket/pallets"
    lab.wait(lambda: lab.spark.catalog.tableExists(table) and lab.table(table).count() >= count)
    lab.wait(lambda: lab.archived(place) >= count)
    rows, objects = lab.table(table), lab.spark.read.json(place)
    for found in (rows, objects):
        assert found.count() == found.select("order_id").distinct().count() == count
    assert rows.where("price is null or bid_time is null or supplier is null").count() == 0
    lab.wait(lambda: lab.count("pallet-stats") > 0)

    # Confluent's own client reads what we wrote, and capture knows the topic's fields.
    text = Registry(lab.settings.registry).versions("pallets-value")[-1].text
    context = SerializationContext("pallets", MessageField.VALUE)
    deserialize = ProtobufDeserializer(message(text), {"use.deprecated.format": False})
    theirs = {deserialize(one, context).order_id for one in lab.values("pallets")}
    assert theirs == {row.order_id for row in rows.select("order_id").collect()}
    known = TopicSchemas(lab.settings.registry)
    assert {field.name for field in known.fields("pallets")} == set(rows.columns)
    known.close()


@contextmanager
def other_client(url: str) -> Iterator[Callable[..., bytes]]:
    """Confluent's client, which registers what it writes, as descriptors in base64.

    The registry keeps these, but cannot compare them with one another: no rule may ask it to.
    """
    client = SchemaRegistryClient({"url": url})
    client.set_compatibility(level="NONE")

    def write(topic: str, text: str, **values: object) -> bytes:
        kind = message(text)
        serialize = ProtobufSerializer(kind, client, {"use.deprecated.format": False})
        context = SerializationContext(topic, MessageField.VALUE)
        record: bytes = serialize(kind(**values), context)
        return record

    try:
        yield write
    finally:
        client.set_compatibility(level="BACKWARD")


def boxes(more: str = "") -> str:
    return f'syntax = "proto3"; message box {{ string id = 1; double price = 2; {more} }}'


def test_records_of_another_client_are_read_by_their_schemas(environ: dict[str, str]) -> None:
    url = environ["SCHEMA_REGISTRY_URL"]
    with other_client(url) as write:
        old = write("jars", boxes(), id="0", price=1.5)
        new = write("jars", boxes("optional int64 size = 3;"), id="1", price=2.5, size=9)
    rows = read(Registry(url).versions("jars-value"), old, new, new[:6] + b"\xff")
    assert [(r["id"], r["price"], r["size"], r["ok"]) for r in rows] == [
        ("0", 1.5, None, True),
        ("1", 2.5, 9, True),
        (None, None, None, None),
    ]
    known = TopicSchemas(url)
    assert [field.name for field in known.fields("jars")] == ["id", "price", "size"]
    known.close()


def test_records_of_another_client_gain_a_field_mid_stream(lab: Lab) -> None:
    ensure_topics(lab.settings.bootstrap, ["boxes"])
    sink = {
        "connector.class": "iceberg-sink",
        "topics": "boxes",
        "iceberg.tables": "default.boxes",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.control.commit.interval-ms": "500",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "box-letters",
        "value.converter": "ProtobufConverter",
    }
    lab.start("boxes-sink", sink)
    table = "demo_ib.default.boxes"
    with other_client(lab.settings.registry) as write:
        for number, more in enumerate(("", "optional int64 size = 3;")):
            size = {"size": 9} if more else {}
            record = write("boxes", boxes(more), id=str(number), price=1.5, **size)
            lab.produce("boxes", [record, b"poison", record[:6] + b"\xff"])
            lab.wait(
                lambda count=number + 1: (
                    lab.spark.catalog.tableExists(table) and lab.table(table).count() == count
                )
            )
    rows = lab.table(table).orderBy("id").collect()
    assert [(r.id, r.price, r["size"]) for r in rows] == [("0", 1.5, None), ("1", 1.5, 9)]
    lab.wait(lambda: len(lab.values("box-letters")) == 3)


def test_a_bad_record_fails_its_connector_with_its_place(lab: Lab) -> None:
    ensure_topics(lab.settings.bootstrap, ["crushed"])
    text = 'syntax = "proto3"; message box { string id = 1; }'
    new = Registry(lab.settings.registry).register("crushed-value", text, "PROTOBUF")
    good = b"\0" + new.to_bytes(4, "big") + b"\0" + message(text)(id="a").SerializeToString()
    lab.produce("crushed", [good, good[:6] + b"\xff"])
    sink = {"connector.class": "s3-sink", "topics": "crushed", "s3.bucket.name": "crushed"}
    sink |= CONVERTER
    strict = lab.start("strict-protobuf", sink)
    with pytest.raises(AssertionError, match="topic crushed, partition 0, offset 1"):
        lab.wait(lambda: False)
    strict.stop()
    lab.hosted.remove(strict)
