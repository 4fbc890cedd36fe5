"""What capture costs a driver: at a query's start, in each micro-batch, for huge plans, in memory.

    .venv/bin/python benchmarks/capture.py [--rounds 2] [--batches 10000]

Drivers with no listener, with capture and with OpenLineage's listener take turns, each in a
process of its own, all telling a real lineage server. Writes docs/benchmarks/capture.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
REPORT = ROOT / "docs" / "benchmarks" / "capture.md"
MODES = {"off": "none", "ours": "Headwater", "official": "OpenLineage's 1.53.0"}
STARTS, BATCHES, WARM = 12, 60, 15
PARTS = 5  # of the run that memory is looked at over


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--batches", type=int, default=10_000, help="that memory is looked at over")
    parser.add_argument("--child", choices=[*MODES, "plans", "memory"])
    options = parser.parse_args()
    if options.child == "plans":
        print(json.dumps(measure_plans()))
    elif options.child == "memory":
        print(json.dumps(measure_memory(options.batches)))
    elif options.child:
        print(json.dumps(measure(options.child)))
    else:
        run_all(options.rounds, options.batches)


def run_all(rounds: int, batches: int) -> None:
    from server.process import ServerProcess

    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with ServerProcess(f"sqlite:///{home}/lineage.db", home / "server.log") as server:
            for _ in range(rounds):
                for mode in MODES:
                    found[mode].append(child(mode, server.url, home))
                    print(mode, found[mode][-1]["summary"], flush=True)
            memory = child("memory", server.url, home, "--batches", str(batches))
            print(memory, flush=True)
        plans = child("plans", "", home)
    write_report(found, plans, memory, rounds)


def child(mode: str, url: str, home: Path, *options: str) -> dict[str, Any]:
    environ = {**os.environ, "OPENLINEAGE_URL": url, "HEADWATER_SPOOL_DIR": str(home / "spool")}
    if not url:
        environ.pop("OPENLINEAGE_URL")
    done = subprocess.run(
        [sys.executable, __file__, "--child", mode, *options],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=home,
        check=True,
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def session(mode: str) -> Any:
    from pyspark.sql import SparkSession

    from capture.jars import prepare_spark
    from headwater.capture.official import with_listener
    from headwater.stack import Settings, official_jar

    conf = {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.jars": prepare_spark(),
    }
    if mode == "official":
        conf = with_listener(conf, str(official_jar(Settings.read(os.environ))), os.environ)
    builder = SparkSession.builder.master("local[2]").appName(f"cost-{mode}")
    spark = builder.config(map=conf).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def measure(mode: str) -> dict[str, Any]:
    import headwater

    spark = session(mode)
    if mode == "ours":
        headwater.attach(spark)
    folder = Path(tempfile.mkdtemp())
    starts = [start_once(spark, folder, n) for n in range(STARTS + 3)][3:]
    batches = batch_times(spark, folder)
    spark.stop()
    summary = {
        "start_ms": round(statistics.median(starts) * 1000, 1),
        "batch_ms": round(statistics.median(batches), 1),
    }
    return {"summary": summary, "starts": starts, "batches": batches}


def start_once(spark: Any, folder: Path, n: int) -> float:
    """Seconds that `start()` takes, of a query with a plan of some size."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "10").load()
    frame = source.selectExpr("value", *(f"value * {k} as v{k}" for k in range(20)))
    writer = frame.where("v3 > 1").writeStream.queryName(f"start{n}").format("parquet")
    writer = writer.option("path", str(folder / f"out{n}"))
    writer = writer.option("checkpointLocation", str(folder / f"checkpoint{n}"))
    began = time.perf_counter()
    query = writer.start()
    took = time.perf_counter() - began
    while query.lastProgress is None:
        time.sleep(0.01)
    query.stop()
    return took


def batch_times(spark: Any, folder: Path) -> list[float]:
    """Milliseconds of each micro-batch, as Spark itself measures them."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "1000").load()
    writer = source.selectExpr("value % 10 as k", "value").writeStream.queryName("batches")
    writer = writer.format("parquet").option("path", str(folder / "batches"))
    query = writer.option("checkpointLocation", str(folder / "batches-checkpoint")).start()
    times: dict[int, float] = {}
    while len(times) < WARM + BATCHES:
        for progress in query.recentProgress:
            times[progress["batchId"]] = float(progress["batchDuration"])
        time.sleep(0.05)
    query.stop()
    return [times[n] for n in sorted(times)][WARM:]


def measure_memory(batches: int) -> list[dict[str, int]]:
    """Memory of the driver's Python after each part of a run of many short micro-batches."""
    import psutil

    import headwater

    spark = session("ours")
    headwater.attach(spark, heartbeat_seconds=1)
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "1").load()
    folder = tempfile.mkdtemp()
    writer = source.writeStream.queryName("memory").format("noop")
    query = writer.option("checkpointLocation", folder).start()
    java: Any = spark.sparkContext._jvm
    runtime, found = java.java.lang.Runtime.getRuntime(), []
    for part in range(PARTS + 1):
        # The first is warming up: the same number for a long and for a short run.
        goal = WARM if part == 0 else part * batches // PARTS
        while query.lastProgress is None or query.lastProgress["batchId"] < goal:
            time.sleep(0.1)
        java.java.lang.System.gc()
        heap = int(runtime.totalMemory() - runtime.freeMemory())
        resident = psutil.Process().memory_info().rss
        found.append({"batch": goal, "python_kb": resident // 1024, "heap_kb": heap // 1024})
    query.stop()
    spark.stop()
    return found


def measure_plans() -> dict[str, Any]:
    from headwater.capture.plan import analyze

    spark = session("off")
    spark.range(1).createOrReplaceTempView("one")
    frames = {
        "500 columns": wide(spark),
        "200 joins": joins(spark),
        "5,000 plan nodes": unions(spark),
    }
    found = {}
    for title, frame in frames.items():
        plan = frame._jdf.queryExecution().analyzed()
        began = time.perf_counter()
        text = str(plan.toJSON())
        read = time.perf_counter()
        lineage = analyze(text)
        done = time.perf_counter()
        edges = sum(len(lineage.inputs(column)) for _, column in lineage.columns)
        found[title] = {
            "nodes": int(plan.treeString().count("\n")),
            "megabytes": round(len(text) / 1e6, 1),
            "read_ms": round((read - began) * 1000),
            "analyze_ms": round((done - read) * 1000),
            "edges": edges,
        }
    spark.stop()
    return found


def wide(spark: Any) -> Any:
    frame = spark.range(1).selectExpr(*(f"id * {n} as c{n}" for n in range(500)))
    return frame.selectExpr(*(f"c{n} + c{(n + 1) % 500} as d{n}" for n in range(500)))


def joins(spark: Any) -> Any:
    sides = [spark.range(1).selectExpr("id", f"id + {n} as v{n}") for n in range(201)]
    while len(sides) > 1:
        pairs = zip(sides[::2], sides[1::2], strict=False)
        joined = [left.join(right, "id") for left, right in pairs]
        sides = joined + ([sides[-1]] if len(sides) % 2 else [])
    return sides[0]


def unions(spark: Any) -> Any:
    parts = [
        spark.range(1).where("id > 0").selectExpr("id as a", "id * 2 as b") for _ in range(1400)
    ]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        united = [left.unionAll(right) for left, right in pairs]
        parts = united + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]


def write_report(
    found: dict[str, list[dict[str, Any]]],
    plans: dict[str, Any],
    memory: list[dict[str, int]],
    rounds: int,
) -> None:
    lines = [HEAD.format(rounds=rounds, starts=STARTS, batches=BATCHES)]
    base: dict[str, float] = {}
    for mode, title in MODES.items():
        starts = [s * 1000 for run in found[mode] for s in run["starts"]]
        batches = [b for run in found[mode] for b in run["batches"]]
        cells = []
        for key, values in (("start", starts), ("batch", batches)):
            middle = statistics.median(values)
            base.setdefault(key, middle)
            high = statistics.quantiles(values, n=20)[-1]
            cells += [f"{middle:.0f}", f"{high:.0f}", f"{middle - base[key]:+.0f}"]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    lines.append(PLANS)
    for title, told in plans.items():
        lines.append(
            f"| {title} | {told['nodes']} | {told['megabytes']} | {told['read_ms']} "
            f"| {told['analyze_ms']} | {told['edges']} |"
        )
    lines.append(MEMORY)
    lines += [
        f"| {row['batch']} | {row['python_kb'] / 1024:.1f} | {row['heap_kb'] / 1024:.1f} |"
        for row in memory
    ]
    REPORT.write_text("\n".join([*lines, FOOT]))


HEAD = """# What capture costs a driver

Drivers take turns, {rounds} of each kind, each a process of its own with a lineage server beside
it on the same machine; {starts} query starts and {batches} micro-batches of each driver, in
milliseconds. Written by `benchmarks/capture.py`, a part of `make bench`.

| Listener | `start()`, median | 95 % | extra | micro-batch, median | 95 % | extra |
|---|---|---|---|---|---|---|"""
PLANS = """
Reading a plan happens in a thread of capture's own, while the query runs on:

| Plan | Nodes | MB of JSON | Read from the JVM, ms | Analyze, ms | Column edges |
|---|---|---|---|---|---|"""
MEMORY = """
One driver with capture and a heartbeat each second, over many short micro-batches; MB:

| Micro-batch | Driver's Python | JVM's heap after a collection |
|---|---|---|"""
FOOT = """
The machine had 2 cores and other work; differences below the spread of the 95 % columns are noise.
"""


if __name__ == "__main__":
    main()
