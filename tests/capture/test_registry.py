"""Schemas of topics, from a registry that speaks Confluent's API."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest
from google.protobuf import struct_pb2, type_pb2

from headwater.capture.datasets.naming import Dataset
from headwater.capture.datasets.registries import PASSWORD, READ, URL, Registries
from headwater.capture.datasets.registry import Registry, parse

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "price", "type": ["null", "double"]},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {
                "name": "buyer",
                "type": {
                    "type": "record",
                    "name": "Buyer",
                    "fields": [{"name": "city", "type": "string"}],
                },
            },
        ],
    }
)
SUBJECTS = {
    "orders-value": {"schema": AVRO},
    "orders-key": {
        "schema": '{"type": "object", "properties": {"id": {"type": "integer"}}}',
        "schemaType": "JSON",
    },
}
SECRET = "Basic " + base64.b64encode(b"user:secret").decode()


class Subjects(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        subject = unquote(self.path).split("/")[2]
        known = SUBJECTS.get(subject) if self.headers.get("Authorization") == SECRET else None
        body = json.dumps(known or {"error_code": 40401}).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Subjects)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_topic_has_the_fields_of_its_key_and_value(address: str) -> None:
    registry = Registry(address, "user:secret")
    fields = {field.name: field.type for field in registry.fields("orders")}
    registry.close()
    assert fields == {
        "key.id": "integer",
        "id": "integer",
        "price": "double",
        "at": "timestamp-millis",
        "tags": {"type": "array", "elementType": "string"},
        "buyer": {"type": "struct", "fields": [{"name": "city", "type": "string"}]},
    }


def test_topic_without_schema_or_registry_has_none(address: str) -> None:
    for registry in (Registry(address, "user:wrong"), Registry("http://127.0.0.1:1")):
        assert registry.fields("orders") == ()
        registry.close()


def test_query_s_own_options_name_the_registry_and_what_is_read(address: str) -> None:
    orders, other = Dataset("kafka://b:9092", "orders"), Dataset("kafka://b:9092", "other")
    registries = Registries(Registry("http://127.0.0.1:1"))
    options = {URL: address, PASSWORD: "user:secret", READ: "key"}
    registries.note(options, [orders])
    assert [field.name for field in registries.fields(orders)] == ["key.id"]
    assert registries.fields(other) == ()
    registries.note({**options, READ: ""}, [orders])
    assert registries.fields(orders) == ()
    registries.close()


def test_protobuf_message() -> None:
    text = """
    syntax = "proto3";  // not a field = 1
    message Order {
      int32 id = 1;
      optional string name = 2;
      repeated Line lines = 3;
      map<string, int32> counts = 4;
      message Line { string sku = 1; }
    }
    """
    assert {f.name: f.type for f in parse(text, "PROTOBUF")} == {
        "id": "int32",
        "name": "string",
        "lines": {
            "type": "array",
            "elementType": {"type": "struct", "fields": [{"name": "sku", "type": "string"}]},
        },
        "counts": {"type": "map", "keyType": "string", "valueType": "int32"},
    }


def test_a_protobuf_message_that_others_hold_is_not_the_record() -> None:
    text = """
    message Line { string sku = 1; }
    message Order { string id = 1; repeated shop.Line lines = 2; Order parent = 3; }
    message Other { int32 n = 1; }
    """
    assert [field.name for field in parse(text, "PROTOBUF")] == ["id", "lines", "parent"]


def test_a_protobuf_message_that_holds_itself_ends() -> None:
    text = "message Node { string id = 1; repeated Node children = 2; }"
    inner = [
        {"name": "id", "type": "string"},
        {"name": "children", "type": {"type": "array", "elementType": "Node"}},
    ]
    assert {f.name: f.type for f in parse(text, "PROTOBUF")} == {
        "id": "string",
        "children": {"type": "array", "elementType": {"type": "struct", "fields": inner}},
    }


def test_protobuf_maps_of_a_descriptor_are_maps() -> None:
    known = base64.b64encode(struct_pb2.DESCRIPTOR.serialized_pb).decode()
    (fields,) = parse(known, "PROTOBUF")
    assert fields.name == "fields"
    assert fields.type["type"] == "map"
    assert fields.type["keyType"] == "string"


def test_a_json_object_of_any_keys_is_a_map() -> None:
    values = {"type": "object", "additionalProperties": {"type": "integer"}}
    (field,) = parse(json.dumps({"type": "object", "properties": {"m": values}}), "JSON")
    assert field.type == {"type": "map", "keyType": "string", "valueType": "integer"}


def test_protobuf_fields_of_a_descriptor_in_base64() -> None:
    known = base64.b64encode(type_pb2.DESCRIPTOR.serialized_pb).decode()
    found = {field.name: field.type for field in parse(known, "PROTOBUF")}
    assert [*found] == [field.name for field in type_pb2.Type.DESCRIPTOR.fields]
    assert found["name"] == "string"
    assert found["source_context"] == "google.protobuf.SourceContext"
    assert found["oneofs"] == {"type": "array", "elementType": "string"}


@pytest.mark.parametrize(("schema", "kind"), [('"string"', "AVRO"), ("nonsense", "JSON")])
def test_schema_that_is_no_record_has_no_fields(schema: str, kind: str) -> None:
    assert parse(schema, kind) == ()
