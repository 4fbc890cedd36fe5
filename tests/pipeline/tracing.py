"""Orders traced on the real platform: a topic, two tables behind it, and a server that knows."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headwater
from headwater.capture.classic import Capture
from headwater.cli.client import Client
from headwater.pipeline import kafka
from headwater.pipeline.flows import PipelineContext
from headwater.pipeline.formats.converters import Avro
from headwater.pipeline.hosting import Task
from headwater.pipeline.jobs import supplier_hours
from headwater.pipeline.jobs.catalog import job
from headwater.pipeline.settings import Settings
from headwater.schemas.registry import Registry
from server.process import ServerProcess
from stack.platform import eventually

TOPIC, CATALOG = "traced-orders", "traced"
ORDERS, STATS = f"{CATALOG}.default.orders", f"{CATALOG}.default.supplier_stats"
_ROW = "order_id string, item string, price double, supplier string, bid_time timestamp"
_FIRST = datetime(2026, 3, 1, 22, 30, tzinfo=UTC)  # some orders are of the day before the last
_SUPPLIERS = ("Bob", "Eve", "O'Neil")
_BAD = b"no order"


class Traced(NamedTuple):
    """What there is to trace."""

    spark: SparkSession
    settings: Settings
    server: ServerProcess
    client: Client
    orders: list[tuple[Any, ...]]  # in the order in which they were sent
    bad: list[tuple[int, int]]  # partition and offset of what is no order


def orders(first: int, count: int) -> list[tuple[Any, ...]]:
    return [
        (f"o{n}", "Lamp", 1.5 + n, _SUPPLIERS[n % 3], _FIRST + timedelta(minutes=5 * n))
        for n in range(first, first + count)
    ]  # fmt: skip


def send(spark: SparkSession, settings: Settings, rows: list[tuple[Any, ...]]) -> None:
    topic = settings.input_topic
    frame = spark.createDataFrame(rows, _ROW)
    encode = Avro(Registry(settings.registry)).encoder(topic, frame.schema)
    encoded = frame.select(F.col("order_id").alias("key"), encode(F.struct("*")).alias("value"))
    writer = encoded.write.format("kafka").option("topic", topic)
    writer.option("kafka.bootstrap.servers", settings.bootstrap).save()


def send_bytes(settings: Settings, value: bytes | None) -> tuple[int, int]:
    """Send a record as it is; the partition and offset that it has."""
    places: list[Any] = []
    producer = Producer({"bootstrap.servers": settings.bootstrap})
    producer.produce(
        settings.input_topic, value, key="odd",
        on_delivery=lambda _, m: places.append((m.partition(), m.offset())),
    )  # fmt: skip
    assert producer.flush(60) == 0
    partition, offset = places[0]
    return int(partition), int(offset)


@contextmanager
def traced_platform(spark: SparkSession, environ: dict[str, str], folder: Path) -> Iterator[Traced]:
    """Orders in two micro-batches, bad records among them, and the totals of the last day."""
    prefix = f"spark.sql.catalog.{CATALOG}"
    spark.conf.set(f"{prefix}.type", "hadoop")
    spark.conf.set(f"{prefix}.warehouse", str(folder / "warehouse"))
    spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    settings = msgspec.structs.replace(
        Settings.read(environ), catalog=CATALOG, input_topic=TOPIC, tolerant=True
    )
    kafka.ensure_topics(settings.bootstrap, [TOPIC], partitions=2)
    cluster = f"lab={settings.bootstrap}?registry={settings.registry}"
    store = f"sqlite:///{folder}/lineage.db"
    with ServerProcess(store, folder / "server.log", "--kafka", cluster) as server:
        capture = headwater.attach(spark, url=server.url, spool_dir=str(folder / "spool"))
        assert isinstance(capture, Capture)
        try:
            sent, bad = _run(spark, settings, capture, folder)
        finally:
            capture.detach()
        with Client(server.url) as client:
            yield Traced(spark, settings, server, client, sent, bad)


def _run(
    spark: SparkSession, settings: Settings, capture: Capture, folder: Path
) -> tuple[list[tuple[Any, ...]], list[tuple[int, int]]]:
    flow = job("iceberg-ingestion").flow(PipelineContext(spark, settings))
    task = Task(flow, str(folder / "checkpoint"))
    sent, bad = [orders(0, 30), orders(30, 30)], list[tuple[int, int]]()
    try:
        for number, rows in enumerate(sent):
            send(spark, settings, rows)
            bad.append(send_bytes(settings, _BAD))
            if number == 0:
                task.start()
            _wait(spark, task, 30 * number + 30)
    finally:
        task.stop()
    with capture.part("supplier_stats") as session:
        supplier_hours.run(session, settings)
    return [*sent[0], *sent[1]], bad


def _wait(spark: SparkSession, task: Task, count: int) -> None:
    eventually(lambda: _count(spark, task) == count)


def _count(spark: SparkSession, task: Task) -> int:
    task.poll()
    assert not task.trace, task.trace
    return spark.table(ORDERS).count() if spark.catalog.tableExists(ORDERS) else 0
