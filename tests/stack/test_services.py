"""Each service does its work for the clients that people use."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession

from stack.clients import consume, deploy, get, read_table, s3_client, table_size
from stack.connect_tour import tour
from stack.platform import Platform, eventually

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "supplier", "type": "string"}],
}


def test_status_tells_address_pid_memory_and_uptime(platform: Platform) -> None:
    status = platform.status()
    assert status["healthy"]
    names = {service["name"] for service in status["services"]}
    assert names == {"kafka", "registry", "s3", "metastore", "server", "connect", "history"}
    for service in status["services"]:
        assert str(service["port"]) in service["address"]
        assert service["pid"] > 0
        assert service["memory_bytes"] > 2**20
        assert service["uptime_s"] > 0


def test_avro_goes_through_kafka_and_the_registry(platform: Platform) -> None:
    variables = platform.variables()
    context = SerializationContext("avro-orders", MessageField.VALUE)
    sent = [{"id": number, "supplier": f"s{number}"} for number in range(50)]
    producer = Producer({"bootstrap.servers": variables["KAFKA_BOOTSTRAP_SERVERS"]})
    with SchemaRegistryClient({"url": variables["SCHEMA_REGISTRY_URL"]}) as registry:
        write = AvroSerializer(registry, json.dumps(ORDER))
        read = AvroDeserializer(registry)
        for order in sent:
            producer.produce("avro-orders", write(order, context))
        producer.flush(30)
        values = consume(variables["KAFKA_BOOTSTRAP_SERVERS"], "avro-orders", len(sent))
        assert [read(value, context) for value in values] == sent


def test_registry_refuses_a_schema_that_breaks_readers(platform: Platform) -> None:
    added = {"name": "price", "type": "double"}
    broken = {**ORDER, "fields": [*ORDER["fields"], added]}
    with SchemaRegistryClient({"url": platform.variables()["SCHEMA_REGISTRY_URL"]}) as registry:
        assert registry.get_compatibility() == "BACKWARD"
        registry.register_schema("strict-value", Schema(json.dumps(ORDER), "AVRO"))
        with pytest.raises(SchemaRegistryError) as refused:
            registry.register_schema("strict-value", Schema(json.dumps(broken), "AVRO"))
    assert refused.value.http_status_code == 409


def test_object_store_puts_gets_ranges_lists_and_joins_parts(platform: Platform) -> None:
    s3 = s3_client(platform)
    s3.put_object(Bucket="fh-dev-bucket", Key="a/one.txt", Body=b"0123456789")
    got = s3.get_object(Bucket="fh-dev-bucket", Key="a/one.txt")["Body"].read()
    part = s3.get_object(Bucket="fh-dev-bucket", Key="a/one.txt", Range="bytes=2-4")
    assert (got, part["Body"].read()) == (b"0123456789", b"234")

    upload = s3.create_multipart_upload(Bucket="fh-dev-bucket", Key="a/big")
    where = {"Bucket": "fh-dev-bucket", "Key": "a/big", "UploadId": upload["UploadId"]}
    bodies = [b"x" * 5 * 2**20, b"y" * 100]
    parts = [
        {"PartNumber": n, "ETag": s3.upload_part(**where, PartNumber=n, Body=body)["ETag"]}
        for n, body in enumerate(bodies, start=1)
    ]
    s3.complete_multipart_upload(**where, MultipartUpload={"Parts": parts})
    listed = s3.list_objects_v2(Bucket="fh-dev-bucket", Prefix="a/")["Contents"]
    sizes = {one["Key"]: one["Size"] for one in listed}
    assert sizes == {"a/one.txt": 10, "a/big": 5 * 2**20 + 100}
    assert {one["Name"] for one in s3.list_buckets()["Buckets"]} == {"fh-dev-bucket", "warehouse"}


def test_object_store_refuses_wrong_credentials(platform: Platform) -> None:
    with pytest.raises(ClientError):
        s3_client(platform, secret="wrong").list_objects_v2(Bucket="warehouse")
    address = platform.variables()["AWS_ENDPOINT_URL"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{address}/warehouse", timeout=120)
    refused.value.close()
    assert refused.value.code == 403


def test_spark_writes_iceberg_through_the_metastore_and_pyiceberg_reads_it(
    platform: Platform, spark: SparkSession
) -> None:
    spark.sql("CREATE TABLE demo_ib.default.orders (id BIGINT, supplier STRING) USING iceberg")
    spark.range(10).selectExpr("id", "'a' AS supplier").writeTo("demo_ib.default.orders").append()
    spark.range(5).selectExpr("id", "'b' AS supplier").writeTo("demo_ib.default.orders").append()
    assert read_table(platform, "default.orders").num_rows == 15
    overwritten = spark.range(3).selectExpr("id", "'c' AS supplier")
    overwritten.coalesce(1).write.insertInto("demo_ib.default.orders", overwrite=True)
    rows = read_table(platform, "default.orders")
    assert rows["supplier"].to_pylist() == ["c", "c", "c"]
    (location,) = (
        spark.sql("DESCRIBE EXTENDED demo_ib.default.orders")
        .filter("col_name = 'Location'")
        .collect()
    )
    assert location["data_type"] == "s3://warehouse/orders"


def test_spark_reads_what_it_wrote_through_s3a(platform: Platform, spark: SparkSession) -> None:
    spark.range(20).write.json("s3a://fh-dev-bucket/numbers")
    assert spark.read.json("s3://fh-dev-bucket/numbers").count() == 20


def test_history_lists_the_application(platform: Platform, spark: SparkSession) -> None:
    address = platform.variables()["SPARK_HISTORY_URL"]

    def listed() -> bool:
        applications = get(f"{address}/api/v1/applications")
        return any(one["id"] == spark.sparkContext.applicationId for one in applications)

    eventually(listed)


def test_connect_runs_a_file_connector(platform: Platform, tmp_path: Path) -> None:
    variables = platform.variables()
    source = tmp_path / "lines.txt"
    source.write_text("one\ntwo\nthree\n")
    deploy(
        variables["CONNECT_URL"],
        "lines",
        {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "file": str(source),
            "topic": "lines",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        },
    )
    values = consume(variables["KAFKA_BOOTSTRAP_SERVERS"], "lines", 3)
    assert values == [b"one", b"two", b"three"]


def test_others_client_manages_connect(platform: Platform, tmp_path: Path) -> None:
    source = tmp_path / "tour.txt"
    source.write_text("one\n")
    plugin = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    config = {"connector.class": plugin, "file": str(source), "topic": "tour"}
    tour(platform.variables()["CONNECT_URL"], "tour", config, plugin)


def test_connect_writes_iceberg_through_the_metastore(platform: Platform) -> None:
    variables = platform.variables()
    producer = Producer({"bootstrap.servers": variables["KAFKA_BOOTSTRAP_SERVERS"]})
    # The connector does not make its control topic; a broker makes one that is written to.
    producer.produce("control-iceberg", b"")
    for number in range(25):
        producer.produce("clicks", json.dumps({"id": number}).encode())
    producer.flush(30)
    deploy(variables["CONNECT_URL"], "clicks", iceberg_sink(platform.spark()))
    eventually(lambda: table_size(platform, "default.clicks") == 25, limit_s=120)


def iceberg_sink(spark_conf: dict[str, str]) -> dict[str, str]:
    prefix = "spark.sql.catalog.demo_ib."
    catalog = {
        f"iceberg.catalog.{key.removeprefix(prefix)}": value
        for key, value in spark_conf.items()
        if key.startswith(prefix)
    }
    return {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "topics": "clicks",
        "iceberg.tables": "default.clicks",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.control.commit.interval-ms": "2000",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **catalog,
    }


@pytest.fixture(scope="module")
def spark(platform: Platform) -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", platform.variables()["JAVA_HOME"])
        session = spark_session(platform)
    yield session
    session.stop()


def spark_session(platform: Platform) -> SparkSession:
    builder = SparkSession.Builder().master("local[2]").appName("stack-tests")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", 2)
    for name, value in platform.spark().items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
