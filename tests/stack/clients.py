"""The clients that tests use a platform with."""

import json
import urllib.error
import urllib.request
from http import HTTPStatus
from typing import Any

import boto3
from botocore.client import Config
from confluent_kafka import Consumer
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError

from stack.platform import Platform, eventually


def s3_client(platform: Platform, secret: str | None = None) -> Any:
    variables = platform.variables()
    return boto3.client(
        "s3",
        endpoint_url=variables["AWS_ENDPOINT_URL"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=secret or variables["AWS_SECRET_ACCESS_KEY"],
        region_name=variables["AWS_REGION"],
        config=Config(s3={"addressing_style": "path"}),
    )


def consume(servers: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    values: list[bytes] = []

    def all_here() -> bool:
        message = consumer.poll(1)
        while message is not None:
            if not message.error():
                values.append(message.value() or b"")
            message = consumer.poll(0.2)
        return len(values) >= count

    try:
        eventually(all_here)
    finally:
        consumer.close()
    return values


def hive(platform: Platform) -> Catalog:
    variables = platform.variables()
    return load_catalog(
        "hive",
        **{
            "type": "hive",
            "uri": variables["HIVE_METASTORE_URI"],
            "s3.endpoint": variables["AWS_ENDPOINT_URL"],
            "s3.access-key-id": variables["AWS_ACCESS_KEY_ID"],
            "s3.secret-access-key": variables["AWS_SECRET_ACCESS_KEY"],
            "s3.region": variables["AWS_REGION"],
        },
    )


def read_table(platform: Platform, name: str) -> Any:
    return hive(platform).load_table(name).scan().to_arrow()


def table_size(platform: Platform, name: str) -> int:
    try:
        return int(read_table(platform, name).num_rows)
    except NoSuchTableError:
        return 0


def deploy(connect: str, name: str, config: dict[str, str]) -> None:
    """Deploy as a client of Kafka Connect must: it refuses changes during a rebalance by 409."""

    def accepted() -> bool:
        try:
            put(f"{connect}/connectors/{name}/config", config)
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.CONFLICT:
                raise
            return False
        return True

    eventually(accepted)


def put(url: str, body: dict[str, str]) -> None:
    request = urllib.request.Request(
        url,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
        method="PUT",
    )
    urllib.request.urlopen(request, timeout=120).close()


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=120) as answer:
        return json.load(answer)
