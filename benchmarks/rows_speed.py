"""How long `headwater why` takes from metadata alone, and what format v3 costs writers.

    .venv/bin/python benchmarks/rows_speed.py [--snapshots 10000] [--appends 20]

The table's metadata is that of one append, copied for as many snapshots; a server has a report on
each. Writes go to tables of both formats in turn. Puts its tables into docs/benchmarks/rows.md.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
# In place of this folder, which has a `pipeline` of its own.
sys.path[:1] = [str(ROOT / "tests"), str(ROOT / "src")]

from pyspark.sql import SparkSession  # noqa: E402

from capture.jars import find_java, prepare_spark  # noqa: E402
from headwater.cli.client import Client  # noqa: E402
from headwater.trace.iceberg import IcebergTable  # noqa: E402
from headwater.trace.why import why  # noqa: E402
from server.events import dataset, facet, run_event  # noqa: E402
from server.process import ServerProcess  # noqa: E402

REPORT = ROOT / "docs" / "benchmarks" / "rows.md"
MARK = "<!-- the speed -->"
TABLE = "ice.db.many"
ROWS = 200_000  # of one append


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--snapshots", type=int, default=10_000)
    parser.add_argument("--appends", type=int, default=20)
    options = parser.parse_args()
    find_java()
    with tempfile.TemporaryDirectory() as folder:
        spark = _session(Path(folder))
        try:
            lines = [*_traced(spark, Path(folder), options.snapshots), "",
                     *_written(spark, options.appends)]  # fmt: skip
        finally:
            spark.stop()
    before, _, rest = REPORT.read_text().partition(MARK)
    text = "\n".join([MARK, *lines, MARK])
    print(text)
    REPORT.write_text(before + text + rest.partition(MARK)[2])


def _session(home: Path) -> SparkSession:
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("rows-speed")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.jars", prepare_spark())
        .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.ice.type", "hadoop")
        .config("spark.sql.catalog.ice.warehouse", str(home / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _traced(spark: SparkSession, home: Path, snapshots: int) -> Iterator[str]:
    spark.sql(f"CREATE TABLE {TABLE} (id BIGINT) USING iceberg "
              "TBLPROPERTIES ('format-version' = '3')")  # fmt: skip
    spark.sql(f"INSERT INTO {TABLE} SELECT id FROM range(1000)")
    ids = _multiply(home / "warehouse" / "db" / "many" / "metadata", snapshots)
    spark.sql(f"REFRESH TABLE {TABLE}")
    node = IcebergTable(spark, TABLE).node
    with ServerProcess(f"sqlite:///{home}/lineage.db", home / "server.log") as server:
        _report(server, dataset(node.name, node.namespace), ids)
        with Client(server.url) as client:
            whole = _times(lambda: why(spark, client, TABLE, "id = 7", 1))
            asked = _times(lambda: client.ask("why", nodeId=str(node), snapshot=ids[0]))
            last = _times(lambda: client.ask("why", nodeId=str(node), snapshot=ids[-1]))
    yield "| `why` from metadata alone | First | Median of 10 | Slowest of 10 |"
    yield "|---|---|---|---|"
    for name, (first, rest) in {
        "the whole answer: rows read by Spark, snapshot, server": whole,
        "of that the server, for the first snapshot": asked,
        "of that the server, for the last snapshot": last,
    }.items():
        median, most = statistics.median(rest), max(rest)
        yield f"| {name} | {_ms(first)} | {_ms(median)} | {_ms(most)} |"
    yield f"\nA table of format v3 with {snapshots:,} snapshots, and a report on each."


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"


def _multiply(folder: Path, snapshots: int) -> list[str]:
    """Copy the one snapshot of a table, so that it has many."""
    path = max(folder.glob("v*.metadata.json"), key=lambda one: int(one.name[1:].split(".")[0]))
    metadata = json.loads(path.read_text())
    (made,) = metadata["snapshots"]
    first, at = int(made["snapshot-id"]), int(made["timestamp-ms"])
    copies = [
        {**made, "snapshot-id": first + n, "sequence-number": 1 + n, "timestamp-ms": at + n,
         "first-row-id": 1000 * n, **({"parent-snapshot-id": first + n - 1} if n else {})}
        for n in range(snapshots)
    ]  # fmt: skip
    last = copies[-1]["snapshot-id"]
    metadata |= {
        "snapshots": copies, "current-snapshot-id": last, "last-sequence-number": snapshots,
        "next-row-id": 1000 * snapshots, "last-updated-ms": at + snapshots,
        "refs": {"main": {"snapshot-id": last, "type": "branch"}},
        "snapshot-log": [
            {"snapshot-id": one["snapshot-id"], "timestamp-ms": one["timestamp-ms"]}
            for one in copies
        ],
    }  # fmt: skip
    number = int(path.name[1:].split(".")[0]) + 1
    (folder / f"v{number}.metadata.json").write_text(json.dumps(metadata))
    (folder / "version-hint.text").write_text(str(number))
    for stale in folder.glob(".*.crc"):
        stale.unlink()
    return [str(one["snapshot-id"]) for one in copies]


def _report(server: ServerProcess, table: dict[str, Any], ids: list[str]) -> None:
    orders = dataset("orders", "kafka://b:9092")
    server.api.send(run_event("START", 0, run="sink", job="sink", inputs=[orders], outputs=[table]))
    events = []
    for number, snapshot in enumerate(ids):
        offsets = {"orders": {"0": [10 * number, 10 * number + 10]}}
        commit = {"batch": number, "snapshot": snapshot, "sequence": number + 1, "offsets": offsets}
        progress = facet(rows=10, sources=[], commits=[commit], snapshots=[snapshot])
        events.append(run_event("RUNNING", 1 + number / 60, run="sink", job="sink",
                                headwater_progress=progress))  # fmt: skip
    for start in range(0, len(events), 500):
        server.api.send(*events[start : start + 500])


def _times(work: Callable[[], object]) -> tuple[float, list[float]]:
    taken = []
    for _ in range(11):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return taken[0], taken[1:]


def _written(spark: SparkSession, appends: int) -> Iterator[str]:
    for version in (2, 3):
        spark.sql(f"CREATE TABLE ice.db.format{version} (id BIGINT, text STRING, price DOUBLE) "
                  f"USING iceberg TBLPROPERTIES ('format-version' = '{version}')")  # fmt: skip
    rows = spark.range(ROWS).selectExpr("id", "concat('order-', id) AS text", "rand(7) * 100 AS p")
    rows = rows.toDF("id", "text", "price").cache()
    rows.count()
    taken: dict[int, list[float]] = {2: [], 3: []}
    for number in range(appends + 3):
        for version in (2, 3) if number % 2 else (3, 2):
            began = time.perf_counter()
            rows.writeTo(f"ice.db.format{version}").append()
            if number >= 3:  # the JVM is warm by then
                taken[version].append(time.perf_counter() - began)
    two, three = (statistics.median(taken[version]) for version in (2, 3))
    pairs = [b / a - 1 for a, b in zip(taken[2], taken[3], strict=True)]
    yield "| Appends | Format v2 | Format v3 | Difference of medians | Median of differences |"
    yield "|---|---|---|---|---|"
    yield (f"| {appends} of {ROWS:,} rows each, in turn | {two * 1000:.0f} ms | "
           f"{three * 1000:.0f} ms | {three / two - 1:+.1%} | "
           f"{statistics.median(pairs):+.1%} |")  # fmt: skip


if __name__ == "__main__":
    main()
