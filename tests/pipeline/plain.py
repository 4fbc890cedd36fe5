"""A topic's records and the objects they became, by clients that know nothing of Spark."""

import io
import json
from collections import Counter
from typing import Any

import boto3
import fastavro
import pyarrow.parquet as pq
from botocore.config import Config
from confluent_kafka import Producer

from headwater.pipeline.kafka import ensure_topics
from pipeline.process import WorkerProcess
from stack.platform import Platform, eventually

BUCKET = "plain"


class Plain:
    """Sends numbered records, and counts how often each is in a folder."""

    def __init__(self, platform: Platform) -> None:
        found = platform.variables()
        self.bootstrap = found["KAFKA_BOOTSTRAP_SERVERS"]
        self._s3: Any = boto3.client(
            "s3",
            endpoint_url=found["AWS_ENDPOINT_URL"],
            aws_access_key_id=found["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=found["AWS_SECRET_ACCESS_KEY"],
            region_name=found["AWS_REGION"],
            config=Config(
                s3={"addressing_style": "path"}, request_checksum_calculation="when_required"
            ),
        )
        self._producer = Producer({"bootstrap.servers": self.bootstrap})

    def topic(self, name: str, partitions: int = 1) -> None:
        ensure_topics(self.bootstrap, [name], partitions=partitions)

    def send(self, topic: str, numbers: range, partition: int = 0, *more: bytes) -> None:
        """Records with an id each; ids of all partitions together are unique."""
        for number in numbers:
            body = {"id": number, "day": f"d{number % 3}"}
            self._producer.produce(topic, json.dumps(body).encode(), partition=partition)
        for raw in more:
            self._producer.produce(topic, raw, partition=partition)
        assert self._producer.flush(60) == 0

    def make_bucket(self) -> None:
        if BUCKET not in {one["Name"] for one in self._s3.list_buckets()["Buckets"]}:
            self._s3.create_bucket(Bucket=BUCKET)

    def put(self, key: str, body: bytes) -> None:
        self._s3.put_object(Bucket=BUCKET, Key=key, Body=body)

    def keys(self, prefix: str, bucket: str = BUCKET) -> list[str]:
        try:
            pages = self._s3.get_paginator("list_objects_v2")
            listed = pages.paginate(Bucket=bucket, Prefix=prefix)
            return [one["Key"] for page in listed for one in page.get("Contents", ())]
        except self._s3.exceptions.NoSuchBucket:
            return []

    def body(self, key: str, bucket: str = BUCKET) -> bytes:
        return bytes(self._s3.get_object(Bucket=bucket, Key=key)["Body"].read())

    def rows(self, prefix: str) -> Counter[int]:
        """How often each id is in the objects below a prefix, whatever their format."""
        found: Counter[int] = Counter()
        for key in self.keys(prefix):
            try:
                body = self.body(key)
            except self._s3.exceptions.NoSuchKey:  # replaced since it was listed
                return Counter({-1: 1})
            found.update(int(one["id"]) for one in _records(key, body))
        return found

    def once(self, *prefixes: str, ids: range) -> bool:
        """Whether each of some ids is there exactly once, and nothing else is."""
        found = sum((self.rows(prefix) for prefix in prefixes), Counter[int]())
        return found == Counter(ids)


def _records(key: str, body: bytes) -> list[Any]:
    if key.endswith(".json"):
        return [json.loads(line) for line in body.splitlines()]
    if key.endswith(".parquet"):
        return list(pq.ParquetFile(io.BytesIO(body)).read().to_pylist())
    return list(fastavro.reader(io.BytesIO(body)))


def sink(topics: str, **more: str) -> dict[str, str]:
    """An S3 sink of plain JSON that writes often."""
    return {
        "connector.class": "s3-sink",
        "topics": topics,
        "s3.bucket.name": BUCKET,
        "topics.dir": "",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schema.ddl": "id BIGINT, day STRING",
        "rotate.schedule.interval.ms": "200",
        "avro.codec": "deflate",
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def states(worker: WorkerProcess, name: str) -> list[str]:
    status = worker.get(f"/connectors/{name}/status")
    return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]


def put(worker: WorkerProcess, name: str, config: dict[str, str], query: str = "") -> None:
    done = worker.ask("PUT", f"/connectors/{name}/config{query}", config)
    assert done.status_code in (200, 201), done.text


def stop(worker: WorkerProcess, name: str) -> None:
    assert worker.ask("PUT", f"/connectors/{name}/stop").status_code == 204
    eventually(lambda: states(worker, name) == ["STOPPED"], 90)


def resume(worker: WorkerProcess, name: str) -> None:
    assert worker.ask("PUT", f"/connectors/{name}/resume").status_code == 202


def offsets(worker: WorkerProcess, name: str) -> dict[tuple[str, int], int]:
    listed = worker.get(f"/connectors/{name}/offsets")["offsets"]
    return {
        (one["partition"]["kafka_topic"], one["partition"]["kafka_partition"]): one["offset"][
            "kafka_offset"
        ]
        for one in listed
    }


def move(worker: WorkerProcess, name: str, topic: str, wanted: dict[int, int]) -> Any:
    listed = [
        {
            "partition": {"kafka_topic": topic, "kafka_partition": number},
            "offset": {"kafka_offset": offset},
        }
        for number, offset in wanted.items()
    ]
    return worker.ask("PATCH", f"/connectors/{name}/offsets", {"offsets": listed})
