"""Others at the same work: Kafka Connect's Iceberg sink, and PyFlink with the same windows."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
from confluent_kafka import Producer

from headwater.cli.connect import Connect
from headwater.stack import Settings, java_home, running, spark_conf
from headwater.stack.ivy import Wanted, start
from pipeline_site import Site, megabytes, patiently

FLINK = "2.3.0"
JARS = (
    Wanted("org.apache.flink", "flink-sql-connector-kafka", "5.0.0-2.2"),
    Wanted("org.apache.flink", "flink-sql-avro-confluent-registry", FLINK),
)
COLUMNS = "order_id STRING, item STRING, price DOUBLE, supplier STRING, bid_time TIMESTAMP"
PERIOD_MS = "1000"
ABOUT = (
    "The same records, one system after the other on the same machine. Iceberg: plain JSON from a topic "
    "with two partitions, two tasks, one commit per second, into tables with the same columns; from the "
    "deployment until a reader sees the last row. Windows: the topic `orders` in Avro, one partition. "
    "Headwater: from the deployment until the last window is in the topic. PyFlink: its own net runtime, "
    "without the start of its JVM."
)
Row = tuple[str, float, str, str]


def measure(site: Site, orders: int) -> list[Row]:
    """Rows of the report."""
    rows = iceberg(site, orders)
    return rows + windows(site)


def iceberg(site: Site, orders: int) -> list[Row]:
    """The same JSON into two tables, by our sink and by Kafka Connect's."""
    topic = "plain"
    source = site.config("orders-source", topic) | {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "rows.per.second": "40000",
        "tasks.max": "2",
        "topic.creation.default.partitions": "2",
    }
    site.worker.configure("plain-source", source)
    patiently(lambda: site.count(topic) >= orders)
    site.worker.delete("plain-source")
    count = -1
    while count != (count := site.count(topic)):
        time.sleep(2)
    ours = _sink(site, topic, "ours") | {
        "value.converter.schema.ddl": COLUMNS,
        "iceberg.table.default.ours.schema": COLUMNS,
        "iceberg.table.default.ours.partition-by": "days(bid_time)",
    }
    speed = _until_visible(site, site.worker, "ours", ours, count)
    rows: list[Row] = [("Iceberg sink, Headwater", speed, "orders/s", f"{site.memory():,.0f} MB")]
    made = site.catalog.load_table("default.ours")
    site.catalog.create_table("default.theirs", made.schema(), partition_spec=made.spec())
    # The connector does not make its control topic; a broker makes one that is written to.
    producer = Producer({"bootstrap.servers": site.bootstrap})
    producer.produce("control-iceberg", b"")
    producer.flush(30)
    connect = Connect(site.variables["CONNECT_URL"])
    theirs = _sink(site, topic, "theirs") | {"value.converter.schemas.enable": "false"}
    speed = _until_visible(site, connect, "theirs", theirs, count)
    pid = running(site.home).services["connect"].pid
    assert pid is not None
    size = megabytes([psutil.Process(pid.number)])
    return [*rows, ("Iceberg sink 1.12.0, Kafka Connect", speed, "orders/s", f"{size:,.0f} MB")]


def _sink(site: Site, topic: str, table: str) -> dict[str, str]:
    prefix = "spark.sql.catalog.demo_ib."
    spark = spark_conf(Settings.read(site.environ))
    catalog = {
        f"iceberg.catalog.{key.removeprefix(prefix)}": value
        for key, value in spark.items()
        if key.startswith(prefix)
    }
    return {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "topics": topic,
        "iceberg.tables": f"default.{table}",
        "iceberg.control.commit.interval-ms": PERIOD_MS,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "consumer.override.auto.offset.reset": "earliest",
        **catalog,
    }


def _until_visible(
    site: Site, where: Connect, name: str, config: dict[str, str], count: int
) -> float:
    began = time.monotonic()
    where.configure(name, config)
    patiently(lambda: site.visible(f"default.{name}") >= count)
    speed = count / (time.monotonic() - began)
    where.delete(name)
    print(f"  iceberg, {name}: {speed:,.0f} orders/s", flush=True)
    return speed


def windows(site: Site) -> list[Row]:
    """The lab's windows over the topic `orders`, by our job and by PyFlink."""
    count = site.count("orders")
    config = site.config("supplier-stats") | {"job.output.topic": "windows-ours"}
    began = time.monotonic()
    site.worker.configure("windows-ours", config)
    patiently(lambda: site.position("windows-ours") >= count)
    before = -1
    while before != (before := site.count("windows-ours")):
        ended = time.monotonic()
        time.sleep(2)
    site.worker.delete("windows-ours")
    rows: list[Row] = [("windows, Headwater", count / (ended - began), "orders/s", "")]
    print(f"  windows, ours: {rows[0][1]:,.0f} orders/s", flush=True)
    folder = site.home / "flink"
    told = _flink(site, folder)
    speed = count / (told["net_runtime_ms"] / 1000)
    print(f"  windows, PyFlink: {speed:,.0f} orders/s, {told}", flush=True)
    return [*rows, (f"windows, PyFlink {FLINK}", speed, "orders/s", f"{told['mb']:,.0f} MB")]


def _flink(site: Site, folder: Path) -> dict[str, float]:
    settings = Settings.read(site.environ)
    java = java_home(settings)
    bring = start(java / "bin" / "java", folder, JARS, pattern="jars/[artifact]-[revision].[ext]")
    told, _ = bring.communicate(timeout=300)
    assert bring.returncode == 0, told
    uv, python = shutil.which("uv", path=str(Path(sys.executable).parent)), folder / "bin/python"
    assert uv is not None
    subprocess.run(
        [uv, "venv", "--quiet", "--python", "3.11", "--allow-existing", folder], check=True
    )
    install = [uv, "pip", "install", "--quiet", "--python", python, f"apache-flink=={FLINK}"]
    subprocess.run(install, check=True)
    arguments = [
        site.bootstrap,
        site.variables["SCHEMA_REGISTRY_URL"],
        *map(str, (folder / "jars").glob("*.jar")),
    ]
    environ = {**os.environ, "JAVA_HOME": str(java)}
    job = subprocess.Popen(
        [str(python), str(Path(__file__).with_name("pyflink_windows.py")), *arguments],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    family, size = psutil.Process(job.pid), 0.0
    while job.poll() is None:
        size = max(size, megabytes([family, *family.children(recursive=True)]))
        time.sleep(0.5)
    assert job.stdout is not None
    assert job.returncode == 0
    return {**json.loads(job.stdout.read().splitlines()[-1]), "mb": size}
