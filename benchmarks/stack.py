"""How fast the local platform starts and how big it is, on a page.

    python benchmarks/stack.py [--cold] [--out docs/benchmarks/stack.md]

`--cold` also starts from an empty cache, which fetches every jar.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
JVMS = ("kafka", "registry", "s3", "metastore")
RUNS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cold", action="store_true", help="start from an empty cache too")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs/benchmarks/stack.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stack-bench-") as folder:
        rows = measure(Path(folder), cold=options.cold)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(report(rows))
    print(options.out.read_text())


def measure(folder: Path, *, cold: bool) -> list[tuple[str, float, str, float | None]]:
    rows: list[tuple[str, float, str, float | None]] = []
    if cold:
        seconds = start(folder / "cold", {"HEADWATER_CACHE": str(folder / "cache")})[0]
        rows.append(("everything healthy, from an empty cache", seconds, "s", None))
    headwater("fetch")
    first, again, memory = [], [], []
    for run in range(RUNS):
        home = folder / f"home{run}"
        first.append(start(home)[0])
        seconds, resident = start(home)
        again.append(seconds)
        memory.append(resident)
        print(f"  stack: {first[-1]:.1f} s, again {seconds:.1f} s, {resident:.0f} MB", flush=True)
    rows.append(("all services healthy, from a full cache, no state yet", median(first), "s", 25))
    rows.append(("all services healthy, from a full cache", median(again), "s", 25))
    rows.append(("memory of the four JVM services after the start", median(memory), "MB", 1300))
    return rows


def report(rows: list[tuple[str, float, str, float | None]]) -> str:
    lines = [
        "# Benchmark: local platform",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
        f"median of {RUNS}. Written by `make bench`; the services are Kafka, registry, S3, metastore "
        "and the lineage server.",
        "",
        "| What | target | measured |",
        "|---|---|---|",
    ]
    lines += [
        f"| {what} | {f'≤ {limit:,g} {unit}' if limit else ''} | {value:,.3g} {unit}"
        f"{' **missed**' if limit and value > limit else ''} |"
        for what, value, unit, limit in rows
    ]
    return "\n".join(lines) + "\n"


def start(home: Path, environ: dict[str, str] | None = None) -> tuple[float, float]:
    """Bring the demo's services up and down again: seconds to healthy, MB of the four JVMs."""
    extra = {**(environ or {}), "HEADWATER_HOME": str(home)}
    began = time.monotonic()
    headwater("up", "--detach", "--free-ports", **extra)
    seconds = time.monotonic() - began
    try:
        status = json.loads(headwater("status", "--json", **extra))
        sizes = [one["memory_bytes"] for one in status["services"] if one["name"] in JVMS]
        return seconds, sum(sizes) / 2**20
    finally:
        headwater("down", **extra)


def headwater(*arguments: str, **environ: str) -> str:
    command = [sys.executable, "-m", "headwater.cli.main", *arguments]
    done = subprocess.run(
        command, env={**os.environ, **environ}, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    main()
