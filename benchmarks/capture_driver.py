"""The drivers that benchmarks/capture.py starts: each prints what it has measured as JSON.

A listener is put into a session and taken out again, turn by turn, so that both sides of a
comparison are the same JVM on the same machine within the same minutes.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

import httpx  # noqa: E402
import psutil  # noqa: E402
from py4j.finalizer import ThreadSafeFinalizer  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402

import headwater  # noqa: E402
from capture.jars import prepare_spark  # noqa: E402
from capture_plans import measure_plans  # noqa: E402
from headwater.capture.classic import Capture  # noqa: E402
from headwater.capture.official import LISTENER, with_listener  # noqa: E402
from headwater.stack import Settings, official_jar  # noqa: E402

STARTS, BATCHES, WARM = 8, 15, 4
SINKS = ("parquet", "iceberg")
# What Linux calls Spark's threads that tell listeners, and py4j's that serve Python.
LISTENING = ("spark-listener-", "Thread-")
PARTS = 5  # of the run that memory is looked at over
# A checkpoint in memory, where there is a place for it: thousands of batches need no disk.
SHORT_LIVED = next((path for path in ("/dev/shm",) if os.access(path, os.W_OK)), None)


class Listener(Protocol):
    """Something that observes a session, or not."""

    def on(self) -> None: ...

    def off(self) -> None: ...


class Ours:
    """Capture, attached and detached; `waited` are milliseconds that each `start()` waits for it."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._capture: Any = None
        self.waited: list[float] = []
        Capture._query_started = self._timed(Capture._query_started)

    def on(self) -> None:
        self._capture = headwater.attach(self._spark)

    def off(self) -> None:
        if self._capture is not None:
            self._capture.detach()
            self._capture = None

    def _timed(self, told: Callable[..., None]) -> Callable[..., None]:
        def started(capture: Capture, query: Any) -> None:
            began = time.perf_counter()
            told(capture, query)
            self.waited.append(round((time.perf_counter() - began) * 1000, 1))

        return started


class Official:
    """OpenLineage's listener, which Spark has made at its start."""

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext
        jvm, self._context = context._jvm, context._jsc.sc()
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        kind = jvm.java.lang.Class.forName(LISTENER, True, loader)
        tag = getattr(jvm.scala.reflect, "ClassTag$")
        found = getattr(tag, "MODULE$").apply(kind)
        self._listener = self._context.listenerBus().findListenersByClass(found).head()
        self._in = True

    def on(self) -> None:
        if not self._in:
            self._context.addSparkListener(self._listener)
        self._in = True

    def off(self) -> None:
        if self._in:
            self._context.removeSparkListener(self._listener)
        self._in = False


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["ours", "official", "plans", "memory", "memory-off"])
    parser.add_argument("number", type=int, help="of rounds, or of micro-batches for memory")
    options = parser.parse_args()
    if options.what == "plans":
        told: Any = measure_plans(session("plans"))
    elif options.what.startswith("memory"):
        told = measure_memory(options.number, observed=options.what == "memory")
    else:
        told = measure(options.what, options.number)
    print(json.dumps(told))


def session(name: str) -> SparkSession:
    home = Path.cwd() / f"spark-{os.getpid()}"
    conf = {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.jars": prepare_spark(),
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(home / "iceberg"),
    }
    if name == "official":
        conf = with_listener(conf, str(official_jar(Settings.read(os.environ))), os.environ)
    builder = SparkSession.Builder().master("local[2]").appName(f"cost-{name}")
    spark = builder.config(map=dict(conf)).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def measure(name: str, rounds: int) -> list[dict[str, Any]]:
    """What turns without and with a listener took; the first round warms the JVM up."""
    spark = session(name)
    listener: Listener = Ours(spark) if name == "ours" else Official(spark)
    turns = []
    for number in range(rounds + 1):
        for observed in (False, True) if number % 2 else (True, False):
            listener.on() if observed else listener.off()
            turn = {"round": number, "observed": observed, **take_turn(spark)}
            if isinstance(listener, Ours):
                turn["waited"], listener.waited = listener.waited, []
            turns += [turn] if number else []
            print({k: v for k, v in turn.items() if k != "starts"}, file=sys.stderr, flush=True)
    listener.off()
    spark.stop()
    return turns


def take_turn(spark: SparkSession) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(dir=Path.cwd()))
    starts = [start_once(spark, folder / str(n)) for n in range(STARTS)]
    return {"starts": starts, **{sink: paced(spark, folder / sink, sink) for sink in SINKS}}


def start_once(spark: SparkSession, folder: Path) -> float:
    """Milliseconds that `start()` takes, of a query with a plan of some size."""
    source = rows(spark, 10)
    frame = source.selectExpr("value", *(f"value * {k} as v{k}" for k in range(20)))
    writer = frame.where("v3 > 1").writeStream.format("parquet").option("path", str(folder / "out"))
    writer = writer.queryName(f"start{folder.name}").option("checkpointLocation", str(folder / "c"))
    began = time.perf_counter()
    query = writer.start()
    took = time.perf_counter() - began
    while query.lastProgress is None:
        time.sleep(0.05)
    query.stop()
    return round(took * 1000, 1)


def paced(spark: SparkSession, folder: Path, sink: str) -> dict[str, Any]:
    """A micro-batch each second: its duration as Spark tells it, and what the driver spends."""
    frame = rows(spark, 1000).selectExpr("value % 10 as k", "value")
    writer = frame.writeStream.queryName(f"paced-{sink}").trigger(processingTime="1 second")
    writer = writer.option("checkpointLocation", str(folder / "c"))
    if sink == "iceberg":
        table = f"ice.default.{folder.parent.name}"
        spark.sql(f"create table {table} (k bigint, value bigint) using iceberg")
        query = writer.toTable(table)
    else:
        query = writer.format(sink).option("path", str(folder / "out")).start()
    wait_for(query, WARM)
    events, before = told(), spending(spark)
    wait_for(query, WARM + BATCHES)
    after = spending(spark)
    spent = {key: (after[key] - before[key]) * 1000 / BATCHES for key in after}
    spent["events"] = (told() - events) / BATCHES
    times = {p["batchId"]: p["batchDuration"] for p in query.recentProgress}
    query.stop()
    return {**spent, "batches": [times[n] for n in sorted(times) if n > WARM]}


def rows(spark: SparkSession, number: int) -> DataFrame:
    reader = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", str(number))
    return reader.load()


def wait_for(query: Any, batch: int) -> None:
    while query.lastProgress is None or query.lastProgress["batchId"] < batch:
        assert query.isActive, query.exception()
        time.sleep(0.25)


def told() -> int:
    """How many events the lineage server has."""
    url = f"{os.environ['OPENLINEAGE_URL']}/api/v1/events/lineage"
    return int(httpx.get(url, params={"limit": 1}, timeout=60).json()["totalCount"])


def spending(spark: SparkSession) -> dict[str, float]:
    """Seconds of CPU so far: of Python, of the JVM, and of the JVM's threads for listeners."""
    context: Any = spark.sparkContext
    jvm = psutil.Process(context._gateway.proc.pid)
    times, listening = jvm.cpu_times(), 0.0
    for thread in jvm.threads():
        try:
            name = Path(f"/proc/{jvm.pid}/task/{thread.id}/comm").read_text()
        except FileNotFoundError:
            continue  # it has just ended
        if name.startswith(LISTENING):
            listening += thread.user_time + thread.system_time
    return {
        "python_ms": time.process_time(),
        "jvm_ms": times.user + times.system,
        "listening_ms": listening,
    }


def measure_memory(batches: int, *, observed: bool) -> list[dict[str, int]]:
    """Memory of a driver after each part of a run of many short micro-batches."""
    spark = session("memory")
    if observed:
        headwater.attach(spark, heartbeat_seconds=1)
    writer = rows(spark, 1).writeStream.queryName("memory").format("noop")
    found = []
    with tempfile.TemporaryDirectory(dir=SHORT_LIVED) as checkpoint:
        query = writer.option("checkpointLocation", checkpoint).start()
        for part in range(PARTS + 1):
            goal = max(WARM, part * batches // PARTS)
            wait_for(query, goal)
            found.append({"batch": goal, **memory(spark.sparkContext)})
            print(time.strftime("%T"), found[-1], file=sys.stderr, flush=True)
        query.stop()
    spark.stop()
    return found


def memory(context: Any) -> dict[str, int]:
    gc.collect()
    jvm = context._jvm
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return {
        "python_kb": psutil.Process().memory_info().rss // 1024,
        "heap_kb": int(runtime.totalMemory() - runtime.freeMemory()) // 1024,
        "held": len(ThreadSafeFinalizer.finalizers),
    }


if __name__ == "__main__":
    main()
