"""What capture costs a driver: at a query's start, in each micro-batch, for huge plans, in memory.

    .venv/bin/python benchmarks/capture.py [--rounds 3] [--batches 10000] [--only costs,plans,memory]

Turns without and with a listener alternate within one driver, for capture and for OpenLineage's
listener, both telling a real lineage server. Results are kept part by part; the report,
docs/benchmarks/capture.md, is written from what is there.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from server.process import ServerProcess  # noqa: E402

DRIVER = Path(__file__).with_name("capture_driver.py")
RESULTS = ROOT / ".headwater" / "capture.json"
REPORT = ROOT / "docs" / "benchmarks" / "capture.md"
LISTENERS = {"ours": "Headwater", "official": "OpenLineage's 1.53.0"}
SINKS = {"parquet": "Parquet files", "iceberg": "an Iceberg table"}
PARTS = ("costs", "plans", "memory")
BOTH = (False, True)
WHOLE, OWN = ("python_ms", "jvm_ms"), ("python_ms", "listening_ms")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=10_000, help="that memory is looked at over")
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args()
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with ServerProcess(f"sqlite:///{home}/lineage.db", home / "server.log") as server:
            run = partial(driver, home, server.url)
            for part in options.only.split(","):
                found[part] = measure(part, run, options)
                RESULTS.write_text(json.dumps(found))
    REPORT.write_text(report(found))


def measure(part: str, run: Callable[[str, int], Any], options: argparse.Namespace) -> Any:
    """The figures of one part of the report."""
    if part == "costs":
        return {name: run(name, options.rounds) for name in LISTENERS}
    if part == "plans":
        return run("plans", 1)
    # Side by side: memory is not a matter of time.
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda name: run(name, options.batches), ("memory", "memory-off")))


def driver(home: Path, url: str, what: str, number: int) -> Any:
    """What one driver has measured."""
    done = subprocess.run(
        [sys.executable, DRIVER, what, str(number)],
        env={
            **os.environ,
            "OPENLINEAGE_URL": url,
            "OPENLINEAGE_NAMESPACE": "cost",
            "HEADWATER_SPOOL_DIR": str(home / "spool"),
        },
        stdout=subprocess.PIPE,
        cwd=home,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def report(found: dict[str, Any]) -> str:
    lines = [HEAD]
    if "costs" in found:
        lines += [STARTS, *(starts(*one) for one in found["costs"].items()), BATCHES]
        lines += [batches(*one, sink) for sink in SINKS for one in found["costs"].items()]
        lines.append(COSTS_END)
    if "plans" in found:
        lines.append(PLANS)
        keys = ("plan", "nodes", "megabytes", "read_ms", "analyze_ms", "edges")
        lines += [row(*(str(one[key]) for key in keys)) for one in found["plans"]]
    if "memory" in found:
        lines.append(MEMORY)
        lines += [memory(*both) for both in zip(*found["memory"], strict=True)]
        lines.append(MEMORY_END)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    load = f"the load average was {os.getloadavg()[1]:.1f} at the end"
    return "\n".join([*lines, f"\nMeasured on {machine}; {load}.\n"])


def starts(name: str, turns: list[dict[str, Any]]) -> str:
    off, on = ([s for t in turns if t["observed"] is seen for s in t["starts"]] for seen in BOTH)
    waited = [one for turn in turns for one in turn.get("waited", ())]
    direct = f"{statistics.median(waited):.1f}, at most {max(waited):.0f}" if waited else ""
    return row(LISTENERS[name], *compared(off, on, 0), f"{max(off):.0f} → {max(on):.0f}", direct)


def batches(name: str, turns: list[dict[str, Any]], sink: str) -> str:
    off, on = ([t[sink] for t in turns if t["observed"] is seen] for seen in BOTH)
    times = [[b for turn in side for b in turn["batches"]] for side in (off, on)]
    whole, own = ([spent(side, *parts) for side in (off, on)] for parts in (WHOLE, OWN))
    events = statistics.mean(turn["events"] for turn in on)
    cells = (*compared(*times, 0), *compared(*whole, 0), *compared(*own, 1), f"{events:.1f}")
    return row(LISTENERS[name], SINKS[sink], *cells)


def spent(turns: list[dict[str, Any]], *parts: str) -> list[float]:
    return [sum(turn[part] for part in parts) for turn in turns]


def compared(off: list[float], on: list[float], digits: int) -> tuple[str, str]:
    """Both medians, and their difference."""
    without, with_it = statistics.median(off), statistics.median(on)
    return f"{without:.{digits}f} → {with_it:.{digits}f}", f"{with_it - without:+.{digits}f}"


def memory(on: dict[str, int], off: dict[str, int]) -> str:
    both = [(one["python_kb"] / 1024, one["heap_kb"] / 1024) for one in (on, off)]
    figures = (f"{number:.1f}" for pair in both for number in pair)
    return row(f"{on['batch']:,}", *figures, str(on["held"]), str(off["held"]))


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


HEAD = """# Benchmark: overhead of capture

Measurements without and with a listener alternate within one driver, so that both use the same JVM within
the same minutes. A lineage server runs on the same machine. Medians in milliseconds, without → with.
Written by `benchmarks/capture.py`, a part of `make bench`."""
STARTS = """
## Start of a query

`start()` returns when capture has recorded the query; the last column is the time for that alone.

| Listener | `start()` | difference | maximum | capture alone |
|---|---|---|---|---|"""
BATCHES = """
## One micro-batch per second

| Listener | Sink | Duration | difference | CPU of the driver | difference | CPU of listening | difference | Events |
|---|---|---|---|---|---|---|---|---|"""
COSTS_END = """
- Duration is what Spark reports. Neither listener works in the query's own thread; a longer duration means
  that the listener competes with the query for CPU.
- CPU of the driver is that of Python and the JVM per micro-batch, including a local executor, the JIT
  compiler and the garbage collector, which alone vary by tens of milliseconds.
- CPU of listening is the part that can be measured separately: Python, and the JVM threads that call
  listeners and serve Python. It includes the benchmark's own requests in both cases.
- Events are events per micro-batch that reach the server."""
PLANS = """
## Huge plans

Capture reads a plan in its own thread while the query runs. Milliseconds:

| Plan | Nodes | MB of JSON | Read from the JVM | Analyze | Column edges |
|---|---|---|---|---|---|"""
MEMORY = """
## Memory

A driver with capture and a heartbeat per second, compared with one without, over many short micro-batches.
MB; the heap is measured after a garbage collection. *Held* is the number of JVM objects that Python
references.

| Micro-batch | Python | Heap | Python, without | Heap, without | Held | Held, without |
|---|---|---|---|---|---|---|"""
MEMORY_END = """
Spark itself keeps its last 1,000 executions in memory, with and without capture."""


if __name__ == "__main__":
    main()
