"""Topics of every format, as other producers write them, for the page to show."""

import json
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

FIRST: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "supplier", "type": "string"},
        {"name": "api_token", "type": "string"},
    ],
}
_PLACE = {
    "type": "record",
    "name": "Place",
    "fields": [{"name": "city", "type": "string"}],
}
SECOND = {
    **FIRST,
    "fields": [*FIRST["fields"], {"name": "place", "type": ["null", _PLACE], "default": None}],
}
PROTO = 'syntax = "proto3"; message Bid { string item = 1; int64 price = 2; }'
_JSON = {"title": "Click", "type": "object", "properties": {"url": {"type": "string"}}}
BIG = 2**53 + 1


def fill(variables: dict[str, str]) -> None:
    """Topics `shown-…`: Avro in two versions, Protobuf, JSON Schema, and what has no schema."""
    producer = Producer({"bootstrap.servers": variables["KAFKA_BOOTSTRAP_SERVERS"]})
    with SchemaRegistryClient({"url": variables["SCHEMA_REGISTRY_URL"]}) as registry:
        order = {"id": BIG, "supplier": "s1", "api_token": "hunter2"}
        for schema, more in ((FIRST, {}), (SECOND, {"place": {"city": "Lund"}})):
            written = _avro(registry, schema)(order | more, _context("shown-avro"))
            producer.produce("shown-avro", written, key="k1", headers={"x-password": "hunter2"})
        number = registry.register_schema("shown-proto-value", Schema(PROTO, "PROTOBUF"))
        # The message by its index, then item = "cup" and price = 7.
        producer.produce("shown-proto", _framed(number, b"\x00\x0a\x03cup\x10\x07"))
        write = JSONSerializer(json.dumps(_JSON), registry)
        producer.produce("shown-json", write({"url": "/a"}, _context("shown-json")))
        producer.produce("shown-json", _framed(999_999, b"\xff\xfe"))
        producer.produce("shown-json", _framed(number, b"\x00\xff\xff"))
    producer.produce("shown-plain", json.dumps({"password": "hunter2", "n": 1}))
    producer.produce("shown-plain", "just a line with password=hunter2")
    producer.produce("shown-plain", b"\x80\x81password=hunter2")
    producer.produce("shown-plain", b"\x80\x81\x82")
    producer.produce("shown-plain", None, key="gone")
    producer.produce("shown-plain", "x" * 30_000)
    assert producer.flush(30) == 0


def _avro(registry: SchemaRegistryClient, schema: dict[str, Any]) -> Any:
    return AvroSerializer(registry, json.dumps(schema))


def _context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def _framed(number: int, body: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + body
