"""How fast the pipeline is on this machine: each part alone, all together, and at a steady rate.

    python benchmarks/pipeline.py [--parts throughput,latency] [--orders 200000] [--seconds 45]
                                  [--peers] [--out FILE]

`--peers` also measures the parts `iceberg` and `windows`: a real Kafka Connect with the Iceberg
sink, and a PyFlink job with the same windows, on the same records, with the same heap. Both are
brought for this run only: PyFlink into a virtual environment of its own, with the two jars it
needs. Parts that are not measured stay in the report as they are.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pipeline_peers as peers
from pipeline_site import RATE, Site, patiently
from pipeline_steady import Steady, measure

HERE = Path(__file__).parent
FAST = 40_000  # orders/s, more than is made on two cores
BURSTS_S = 10
SINKS = ("orders-s3-sink", "orders-iceberg-sink", "iceberg-ingestion", "supplier-stats")
PROTOBUF = {"value.converter": "io.confluent.connect.protobuf.ProtobufConverter"}
TITLE = "# Benchmark: pipeline\n\nWritten by `make bench`.\n\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="throughput,latency")
    parser.add_argument("--orders", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs/benchmarks/pipeline.md")
    options = parser.parse_args()
    wanted = {*options.parts.split(","), *(("iceberg", "windows") if options.peers else ())}
    # Ended from outside, it still takes the platform down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with (
        tempfile.TemporaryDirectory(prefix="pipeline-bench-", ignore_cleanup_errors=True) as home,
        Site(Path(home)) as site,
    ):
        for name, part in PARTS.items():
            if name in wanted:
                put(options.out, part(site, options))
    print(options.out.read_text())


Row = tuple[str, float, str, str]


def throughput(site: Site, options: argparse.Namespace) -> list[str]:
    """The part on backlogs."""
    with site.fresh_worker():
        rows = backlog(site, options.orders)
        rows.append(("worker's memory after all this, Python and Java", site.memory(), "MB", ""))
    return [
        f"## Throughput: {options.orders:,} orders",
        "",
        f"{conditions()} The worker has its default settings. From the deployment on a running worker "
        "until the last order is written, including planning, start and the last commit.",
        "",
        *table(rows),
    ]


def latency(site: Site, options: argparse.Namespace) -> list[str]:
    """The part on a steady rate."""
    with site.fresh_worker():
        steady = [measure(site, options.seconds, period) for period in (5000, 1000)]
    return [
        f"## Latency: {RATE:,} orders per second",
        "",
        f"{conditions()} The worker has its default settings.",
        "",
        "Source, S3 archive, Iceberg table and windows at the same time. *Lag* is the age of the oldest "
        "order that a query has not written yet, measured twice a second; it includes the wait for the "
        "next trigger. *In the table* is the time from the order's timestamp in the topic until a reader "
        "sees its snapshot. *In `supplier-stats`* is the time from the end of a window until its record "
        "is in the topic, including 5 s of allowed lateness.",
        "",
        *steady_table(steady),
    ]


def iceberg(site: Site, options: argparse.Namespace) -> list[str]:
    """The part beside Kafka Connect."""
    sides = peers.iceberg(site, options.orders)
    about = f"{conditions()} {options.orders:,} orders. {peers.ABOUT_ICEBERG}"
    return ["## Comparison: Iceberg sink", "", about, "", *peers.table(sides), "", *peers.SETTINGS]


def windows(site: Site, options: argparse.Namespace) -> list[str]:
    """The part beside PyFlink."""
    sides = peers.windows(site, options.orders)
    about = f"{conditions()} {options.orders:,} orders. {peers.ABOUT_WINDOWS}"
    about += " Settings as above."
    return ["## Comparison: windows", "", about, "", *peers.table(sides)]


PARTS: dict[str, Callable[[Site, argparse.Namespace], list[str]]] = {
    "throughput": throughput, "latency": latency, "iceberg": iceberg, "windows": windows,
}  # fmt: skip


def put(out: Path, lines: list[str]) -> None:
    """Replace the part of the report that has the same heading, or add it."""
    text = out.read_text() if out.exists() else TITLE
    parts = re.split(r"(?m)^(?=## )", text)
    name, new = heading(lines[0]), "\n".join(lines).rstrip() + "\n\n"
    kept = [new if heading(part) == name else part for part in parts]
    parts = kept if new in kept else [*kept, new]
    out.write_text("".join(parts).rstrip() + "\n")


def heading(part: str) -> str:
    """What a part is about, without its figures."""
    return re.sub(r"[\d,]+", "", part.partition("\n")[0])


def conditions() -> str:
    """When and where the figures were measured."""
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything (Kafka, registry, object "
        f"store, metastore, worker), load {os.getloadavg()[0]:.1f} at the end.{busy()}"
    )


def backlog(site: Site, orders: int) -> list[Row]:
    """Orders/s of each part that works through a topic full of orders, from deployed to done."""
    rows: list[Row] = [("`orders-source`, Avro", made(site, "orders", orders), "orders/s", "")]
    count = site.count("orders")
    rows += [(f"`{name}`", rate(site, count, name), "orders/s", "") for name in SINKS]
    trio = ("orders-s3-sink", "iceberg-ingestion", "supplier-stats")
    rows.append((" + ".join(f"`{n}`" for n in trio), rate(site, count, *trio), "orders/s", "each"))
    fast = made(site, "boxes", orders // 4, **PROTOBUF)
    rows.append(("`orders-source`, Protobuf", fast, "orders/s", ""))
    boxes = site.count("boxes")
    speed = rate(site, boxes, "orders-iceberg-sink", rename="boxes", **PROTOBUF)
    rows.append(("`orders-iceberg-sink`, Protobuf", speed, "orders/s", ""))
    return rows


def made(site: Site, topic: str, orders: int, **more: str) -> float:
    """Fill a topic; how many orders a second came once the first were there."""
    config = site.config("orders-source", topic) | {"rows.per.second": str(FAST)} | more
    site.worker.configure("source", config)
    patiently(lambda: site.count(topic) > 0)
    first, began = site.count(topic), time.monotonic()
    # Records come in bursts, a micro-batch each: a few of them tell the rate.
    patiently(lambda: site.count(topic) >= orders and time.monotonic() - began > BURSTS_S)
    speed = (site.count(topic) - first) / (time.monotonic() - began)
    site.worker.delete("source")
    settled = -1
    while settled != (settled := site.count(topic)):
        time.sleep(2)
    said(f"{topic} made at", speed)
    return speed


def rate(site: Site, count: int, *names: str, rename: str = "orders", **more: str) -> float:
    """Orders/s from the moment that connectors are deployed until all have read everything."""
    tag = f"bench-{time.monotonic_ns()}"
    began = time.monotonic()
    for name in names:
        config = site.config(name, rename) | more
        if "job.name" in config:
            config["job.output.topic"] = f"{tag}-stats"
        site.worker.configure(f"{tag}-{name}", config | _own_place(name, tag))
    patiently(lambda: all(site.position(f"{tag}-{name}") >= count for name in names))
    speed = count / (time.monotonic() - began)
    for name in names:
        site.worker.delete(f"{tag}-{name}")
    said(" ".join(names), speed)
    return speed


def _own_place(name: str, tag: str) -> dict[str, str]:
    # A folder that is written already would be gone on with, not begun.
    return {"topics.dir": tag} if name == "orders-s3-sink" else {}


def busy() -> str:
    """What to make of figures of a machine that did other things meanwhile."""
    load, cores = os.getloadavg()[2], os.cpu_count() or 1
    if load < 4 * cores:
        return ""
    return (
        f" **Other programs kept the machine busy (load {load:.0f} over a quarter of an hour): speeds "
        "are far below, and lags far above, what the pipeline does alone.**"
    )


def table(rows: list[Row]) -> list[str]:
    head = ["| What | measured | |", "|---|---|---|"]
    return head + [f"| {what} | {value:,.0f} {unit} | {note} |" for what, value, unit, note in rows]


def steady_table(steady: list[Steady]) -> list[str]:
    names = " | ".join(f"written every {one.period_ms / 1000:g} s" for one in steady)
    lines = [f"| p50 / p95 / maximum, s | {names} |", "|---|" + "---|" * len(steady)]
    for what in steady[0].seconds:
        cells = " | ".join(" / ".join(f"{s:.1f}" for s in one.seconds[what]) for one in steady)
        lines.append(f"| {what} | {cells} |")
    made_rate = " | ".join(f"{one.made:,.0f} orders/s" for one in steady)
    lag = " | ".join(" ".join(f"{s:.1f}" for s in one.over_time) for one in steady)
    memory = " | ".join(f"{one.memory:,.0f} MB" for one in steady)
    return [
        *lines,
        f"| actual rate | {made_rate} |",
        f"| maximum memory of the worker, Python and Java | {memory} |",
        f"| maximum lag of any query, every 5 s | {lag} |",
    ]


def said(what: str, speed: float) -> None:
    print(f"  {what}: {speed:,.0f} orders/s", flush=True)


if __name__ == "__main__":
    main()
