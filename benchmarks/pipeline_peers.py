"""Others at the same work: Kafka Connect's Iceberg sink, and PyFlink with the same windows.

Each side runs with the JVM settings that it has in production by default, and with the same heap.
Each does the work twice: cold, as the first thing that its process does, and warm, right after.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer

from headwater.cli.connect import Connect
from headwater.errors import WorkerRefused
from headwater.stack import Settings, java_home, lock, running, spark_conf
from headwater.stack.connect import CONNECT
from headwater.stack.fetch import JarCache
from headwater.stack.ivy import Wanted, start
from headwater.stack.service import PlatformLayout
from pipeline_site import Site, ended, free_port, megabytes, patiently

HEAP = "2g"  # what Kafka's own script gives Connect
FLINK = "2.3.0"
JARS = (
    Wanted("org.apache.flink", "flink-sql-connector-kafka", "5.0.0-2.2"),
    Wanted("org.apache.flink", "flink-sql-avro-confluent-registry", FLINK),
)
COLUMNS = "order_id STRING, item STRING, price DOUBLE, supplier STRING, bid_time TIMESTAMP"
PERIOD_MS = "1000"
# As connect-distributed.sh and kafka-run-class.sh start it.
CONNECT_JVM = (
    *("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"),
    *("-Djava.awt.headless=true", "-Xms256M", f"-Xmx{HEAP}"),
    "-Dorg.apache.logging.log4j.level=INFO",
)
SETTINGS = (
    "| | Heap | Collector | Compilers |",
    "|---|---|---|---|",
    "| Headwater | 2 GB | serial (the worker's default) | both |",
    "| Headwater, defaults | 512 MB (the worker's default) | serial | both |",
    "| Kafka Connect | 2 GB (the default of `connect-distributed.sh`) | G1, with the options of "
    "`kafka-run-class.sh` | both |",
    "| PyFlink | 2 GB (by default a quarter of the machine's memory) | G1 (the JVM's default) | both |",
)
COMMON = (
    "The same records, one system after the other on the same machine, each alone. *Cold* is the first "
    "work of a process that has just started and answers; *warm* is the same work once more in that "
    "process. *Memory* is the most that the process and its children held (RSS) meanwhile."
)
ABOUT_ICEBERG = (
    f"{COMMON} Plain JSON from a topic with two partitions, two tasks, one commit per second, into tables "
    "with the same columns; from the deployment until a reader sees the last row."
)
ABOUT_WINDOWS = (
    f"{COMMON} The topic `orders` in Avro, one partition. Headwater: from the deployment until the last "
    "window is in the topic. PyFlink: from `execute_sql` until the job has ended."
)


class Side(NamedTuple):
    """What one system did: records a second, cold and warm, and megabytes at most."""

    name: str
    cold: float
    warm: float
    memory: float


def table(sides: list[Side]) -> list[str]:
    """The rows of the report."""
    head = ["| | cold | warm | memory |", "|---|---:|---:|---:|"]
    return head + [
        f"| {one.name} | {one.cold:,.0f} orders/s | {one.warm:,.0f} orders/s | {one.memory:,.0f} MB |"
        for one in sides
    ]


def iceberg(site: Site, orders: int) -> list[Side]:
    """The same JSON into tables, by our sink and by Kafka Connect's."""
    count = _filled(site, "plain", orders, **_PLAIN)
    sides = []
    for title, submit in _OURS.items():
        with site.fresh_worker(*submit), _peak(site.memory) as memory:
            cold, warm = (
                _until_visible(site, site.worker, table, _ours(site, table), count)
                for table in _names(title)
            )
        sides.append(Side(f"Iceberg sink, {title}", cold, warm, max(memory)))
    made = site.catalog.load_table(f"default.{_names('Headwater')[0]}")
    for name in ("theirs_cold", "theirs_warm"):
        site.catalog.create_table(f"default.{name}", made.schema(), partition_spec=made.spec())
        # The connector does not make its control topic; a broker makes one that is written to.
        producer = Producer({"bootstrap.servers": site.bootstrap})
        producer.produce(f"control-{name}", b"")
        producer.flush(30)
    with (
        _fresh_connect(site) as (connect, process),
        _peak(lambda: megabytes(process.pid)) as memory,
    ):
        cold, warm = (
            _until_visible(site, connect, table, _theirs(site, table), count)
            for table in ("theirs_cold", "theirs_warm")
        )
    version = next(jar.version for jar in lock.load().jars(["connect-iceberg"])
                   if jar.artifact == "iceberg-kafka-connect")  # fmt: skip
    name = f"Iceberg sink {version}, Kafka Connect"
    return [*sides, Side(name, cold, warm, max(memory))]


_OURS = {"Headwater": ("--driver-memory", HEAP), "Headwater, defaults": ()}
_PLAIN = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "tasks.max": "2",
    "topic.creation.default.partitions": "2",
}


def _names(title: str) -> tuple[str, str]:
    base = "defaults" if "defaults" in title else "ours"
    return f"{base}_cold", f"{base}_warm"


def _filled(site: Site, topic: str, orders: int, **more: str) -> int:
    """Fill a topic, unless it is full; how many records it has."""
    if site.count(topic) < orders:
        with site.fresh_worker("--driver-memory", HEAP):
            source = site.config("orders-source", topic) | {"rows.per.second": "40000"} | more
            site.worker.configure(f"{topic}-source", source)
            patiently(lambda: site.count(topic) >= orders)
            site.worker.delete(f"{topic}-source")
    count = -1
    while count != (count := site.count(topic)):
        time.sleep(2)
    return count


@contextmanager
def _peak(size: Callable[[], float]) -> Iterator[list[float]]:
    """Sizes, taken twice a second."""
    sizes, over = [size()], threading.Event()

    def sample() -> None:
        while not over.wait(0.5):
            sizes.append(size())

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    try:
        yield sizes
    finally:
        over.set()
        sampler.join()


@contextmanager
def _fresh_connect(site: Site) -> Iterator[tuple[Connect, "subprocess.Popen[bytes]"]]:
    """A Kafka Connect of its own with the options of Kafka's scripts, once it answers."""
    settings, platform = Settings.read(site.environ), running(site.home)
    cache, jars = JarCache(settings.cache, ivy_settings=settings.ivy_settings), lock.load()
    cache.ensure(jars.jars(CONNECT.sets), platform.java_home / "bin" / "java")
    ports = {name: service.port for name, service in platform.services.items()}
    ports["connect"] = free_port()
    layout = PlatformLayout(site.home, platform.java_home, cache, jars, ports)
    CONNECT.prepare(layout, lambda *_: None)
    java, *rest = CONNECT.command(layout)
    command = [java, *CONNECT_JVM, *rest[rest.index("-cp") :]]
    with (site.home / "connect.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    connect = Connect(CONNECT.address(layout))
    try:
        patiently(lambda: _answers(connect))
        yield connect, process
    finally:
        ended(process)


def _answers(connect: Connect) -> bool:
    try:
        connect.statuses()
    except WorkerRefused:
        return False
    return True


def _ours(site: Site, table: str) -> dict[str, str]:
    return _sink(site, table) | {
        "value.converter.schema.ddl": COLUMNS,
        f"iceberg.table.default.{table}.schema": COLUMNS,
        f"iceberg.table.default.{table}.partition-by": "days(bid_time)",
    }


def _theirs(site: Site, table: str) -> dict[str, str]:
    return _sink(site, table) | {
        "value.converter.schemas.enable": "false",
        "iceberg.control.topic": f"control-{table}",
    }


def _sink(site: Site, table: str) -> dict[str, str]:
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
        "topics": "plain",
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


def windows(site: Site, orders: int) -> list[Side]:
    """The lab's windows over the topic `orders`, by our job and by PyFlink."""
    count = _filled(site, "orders", orders)
    sides = []
    for title, submit in _OURS.items():
        with site.fresh_worker(*submit), _peak(site.memory) as memory:
            cold, warm = (_windows(site, f"windows-{name}", count) for name in _names(title))
        sides.append(Side(f"windows, {title}", cold, warm, max(memory)))
    seconds, size = _flink(site, site.home / "flink")
    return [*sides, Side(f"windows, PyFlink {FLINK}", *(count / one for one in seconds), size)]


def _windows(site: Site, name: str, count: int) -> float:
    began = time.monotonic()
    site.worker.configure(name, site.config("supplier-stats") | {"job.output.topic": name})
    patiently(lambda: site.position(name) >= count)
    found, last = site.count(name), time.monotonic()
    while time.monotonic() - last < 5:  # several triggers without a window
        if found != (found := site.count(name)):
            last = time.monotonic()
        time.sleep(0.1)
    site.worker.delete(name)
    print(f"  windows, {name}: {count / (last - began):,.0f} orders/s", flush=True)
    return count / (last - began)


def _flink(site: Site, folder: Path) -> tuple[list[float], float]:
    """Seconds of the job, cold and warm, and megabytes at most."""
    settings = Settings.read(site.environ)
    java = java_home(settings)
    bring = start(java / "bin" / "java", folder, JARS, pattern="jars/[artifact]-[revision].[ext]")
    output, _ = bring.communicate(timeout=300)
    assert bring.returncode == 0, output
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
    environ = {**os.environ, "JAVA_HOME": str(java), "JVM_ARGS": f"-Xmx{HEAP}"}
    job = subprocess.Popen(
        [str(python), str(Path(__file__).with_name("pyflink_windows.py")), *arguments],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    with _peak(lambda: megabytes(job.pid)) as memory:
        output, _ = job.communicate()
    assert job.returncode == 0
    seconds: list[float] = json.loads(output.splitlines()[-1])
    print(f"  windows, PyFlink: {seconds} s", flush=True)
    return seconds, max(memory)
