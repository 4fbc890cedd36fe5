"""How long `headwater why` takes from metadata alone, and what format v3 costs writers.

    .venv/bin/python benchmarks/rows_speed.py [--snapshots 10000] [--pairs 60]

The table's metadata is that of one append, copied for as many snapshots; a server has a report on
each. Writes go to tables of both formats in turn. Puts its tables into docs/benchmarks/rows.md.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
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

from capture.jars import find_java  # noqa: E402
from capture.pieces import local_session, put_between  # noqa: E402
from headwater.cli.client import Client  # noqa: E402
from headwater.trace.iceberg import IcebergTable  # noqa: E402
from headwater.trace.why import why  # noqa: E402
from server.events import dataset, facet, run_event  # noqa: E402
from server.process import ServerProcess  # noqa: E402

REPORT = ROOT / "docs" / "benchmarks" / "rows.md"
MARK = "<!-- the speed -->"
TABLE, SMALL = "ice.db.many", "ice.db.one"  # with many snapshots, and with one
ROWS = 200_000  # of one append
WARM = 5  # pairs that warm the JVM


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--snapshots", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--answer", nargs=3, metavar=("HOME", "SERVER", "BEFORE"),
                        help="only answer, after a question about another table if there is one")  # fmt: skip
    options = parser.parse_args()
    find_java()
    if options.answer:
        _answer(Path(options.answer[0]), *options.answer[1:])
        return
    with tempfile.TemporaryDirectory() as folder:
        spark = _session(Path(folder))
        try:
            lines = [*_traced(spark, Path(folder), options.snapshots), "",
                     *_written(spark, options.pairs)]  # fmt: skip
        finally:
            spark.stop()
    print("\n".join(lines))
    put_between(REPORT, MARK, lines)


def _session(home: Path) -> SparkSession:
    catalog = "spark.sql.catalog.ice"
    return local_session("rows-speed", {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": str(home / "warehouse"),
    })  # fmt: skip


def _traced(spark: SparkSession, home: Path, snapshots: int) -> Iterator[str]:
    for table in (TABLE, SMALL):
        spark.sql(f"CREATE TABLE {table} (id BIGINT) USING iceberg "
                  "TBLPROPERTIES ('format-version' = '3')")  # fmt: skip
        spark.sql(f"INSERT INTO {table} SELECT id FROM range(1000)")
    ids = _multiply(home / "warehouse" / "db" / "many" / "metadata", snapshots)
    spark.sql(f"REFRESH TABLE {TABLE}")
    node = IcebergTable(spark, TABLE).node
    with ServerProcess(f"sqlite:///{home}/lineage.db", home / "server.log") as server:
        _report(server, dataset(node.name, node.namespace), ids)
        with Client(server.url) as client:
            cold, warm = (_answered(home, server.url, before) for before in ("", SMALL))
            asked = _times(lambda: client.ask("why", nodeId=str(node), snapshot=ids[0]))
            last = _times(lambda: client.ask("why", nodeId=str(node), snapshot=ids[-1]))
    yield "| `why` from metadata alone | First | Median of 10 | Slowest of 10 |"
    yield "|---|---|---|---|"
    for name, (first, rest) in {
        "the whole answer (rows read by Spark, snapshot, server) in a new session": cold,
        "the same, after a question about another table": warm,
        "of that the server, for the first snapshot": asked,
        "of that the server, for the last snapshot": last,
    }.items():
        median, most = statistics.median(rest), max(rest)
        yield f"| {name} | {_ms(first)} | {_ms(median)} | {_ms(most)} |"
    yield f"\nA table of format v3 with {snapshots:,} snapshots, and a report on each."


def _answered(home: Path, server: str, before: str) -> tuple[float, list[float]]:
    """How long answers take in a session of their own."""
    command = [sys.executable, __file__, "--answer", str(home), server, before]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    first, *rest = json.loads(done.stdout.splitlines()[-1])
    return first, rest


def _answer(home: Path, server: str, before: str) -> None:
    spark = _session(home)
    try:
        with Client(server) as client:
            if before:
                why(spark, client, before, "id = 7", 1)
            first, rest = _times(lambda: why(spark, client, TABLE, "id = 7", 1))
    finally:
        spark.stop()
    print(json.dumps([first, *rest]))


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


def _written(spark: SparkSession, number: int) -> Iterator[str]:
    for version in (2, 3):
        spark.sql(f"CREATE TABLE ice.db.format{version} (id BIGINT, text STRING, price DOUBLE) "
                  f"USING iceberg TBLPROPERTIES ('format-version' = '{version}')")  # fmt: skip
    rows = spark.range(ROWS).selectExpr("id", "concat('order-', id) AS text", "rand(7) * 100 AS p")
    rows = rows.toDF("id", "text", "price").cache()
    rows.count()
    pid = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    pairs: list[dict[int, tuple[float, float]]] = []
    for turn in range(number + WARM):
        pair = {}
        for version in (2, 3) if turn % 2 else (3, 2):
            began, used = time.perf_counter(), _cpu(pid)
            rows.writeTo(f"ice.db.format{version}").append()
            pair[version] = (time.perf_counter() - began, _cpu(pid) - used)
        pairs.append(pair)
    yield "| Appends | Format v2 | Format v3 | Median of the differences of pairs | 95 % interval |"
    yield "|---|---|---|---|---|"
    for place, name in enumerate(("time", "CPU time of the JVM")):
        two, three = ([pair[version][place] for pair in pairs[WARM:]] for version in (2, 3))
        base = statistics.median(two)
        differences = [(b - a) / base for a, b in zip(two, three, strict=True)]
        low, high = _interval(differences)
        yield (f"| {name} | {base * 1000:.0f} ms | {statistics.median(three) * 1000:.0f} ms | "
               f"{statistics.median(differences):+.1%} | {low:+.1%} to {high:+.1%} |")  # fmt: skip
    yield f"\n{number} pairs of appends of {ROWS:,} rows, the format that comes first in turn."


def _cpu(pid: int) -> float:
    """The CPU time that a process has used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _interval(differences: list[float]) -> tuple[float, float]:
    """Where the median lies with 95 % confidence, by drawing the pairs again."""
    chance = random.Random(7)
    medians = sorted(
        statistics.median(chance.choices(differences, k=len(differences))) for _ in range(2000)
    )
    return medians[50], medians[1949]


if __name__ == "__main__":
    main()
