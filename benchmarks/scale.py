#!/usr/bin/env python3
"""How long questions about a small part take on a store of 200,000 jobs, beside an almost empty one.

    scale.py                    writes docs/benchmarks/scale.md
    scale.py --jobs 10000       another size
    scale.py --store postgresql only one of the stores

Jobs stand in pipelines of 20: each reads a dataset of the job before and writes five, with five
columns each. `headwater import` loads them. The same questions about one pipeline go to a server
that holds only this pipeline, and to one that holds all.
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from urllib.parse import quote

import httpx
import psutil

import lineage
import lineage_bench as bench

REPORT = Path(__file__).parent.parent / "docs" / "benchmarks" / "scale.md"
LENGTH, WIDTH, COLUMNS = 20, 5, 5  # jobs of a pipeline, outputs of a job, columns of an output
SPACE = "s3://lake"
ROUNDS = 21
STORES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=200_000)
    parser.add_argument("--store", choices=STORES, action="append")
    parser.add_argument("--out", type=Path, default=REPORT)
    options = parser.parse_args()
    columns = []
    with tempfile.TemporaryDirectory(prefix="headwater-") as name:
        folder = Path(name)
        files = [written(folder / f"{jobs}.ndjson", jobs) for jobs in (LENGTH, options.jobs)]
        for kind in options.store or STORES:
            for file, label in zip(files, ("one pipeline", "all"), strict=True):
                print(f"{STORES[kind]}, {label}", flush=True)
                columns.append((f"{STORES[kind]}, {label}", measured(kind, file)))
    text = report(options.jobs, columns)
    options.out.write_text(text)
    print(text)


def written(file: Path, jobs: int) -> Path:
    """A file of events, one for each job."""
    with file.open("w") as lines:
        for number in range(jobs):
            lines.write(json.dumps(event(number)) + "\n")
    return file


def event(number: int) -> dict[str, object]:
    """The run of a job; the same each time."""
    pipeline, step = divmod(number, LENGTH)
    before = dataset(pipeline, step - 1, 0)
    outputs = [dataset(pipeline, step, n, before["name"]) for n in range(WIDTH)]
    return {
        "eventType": "COMPLETE",
        "eventTime": (_BEGAN + timedelta(seconds=number)).isoformat(),
        "producer": bench.PRODUCER,
        "schemaURL": bench.SPEC + "2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid.UUID(int=random.Random(number).getrandbits(128), version=4))},
        "job": {"namespace": f"team_{pipeline % 50}", "name": job(pipeline, step)},
        "inputs": [before],
        "outputs": outputs,
    }


def job(pipeline: int, step: int) -> str:
    return f"pipeline_{pipeline:05d}.step_{step:02d}"


def dataset(pipeline: int, step: int, number: int, source: str | None = None) -> dict[str, object]:
    names = [f"column_{n}" for n in range(COLUMNS)]
    fields = [{"name": name, "type": "string"} for name in names]
    facets = {"schema": bench.facet("s", fields=fields)}
    if source:
        inputs = {
            name: {"inputFields": [{"namespace": SPACE, "name": source, "field": name}]}
            for name in names
        }
        facets["columnLineage"] = bench.facet("c", fields=inputs)
    name = f"pipeline_{pipeline:05d}/step_{step:02d}/{number}"
    return {"namespace": SPACE, "name": name, "facets": facets}


def measured(kind: str, file: Path) -> dict[str, float]:
    """Load a file into an empty store, ask, and give the figures."""
    with tempfile.TemporaryDirectory(prefix="headwater-") as name, store(kind, Path(name)) as at:
        url, size, pids = at
        with lineage.started(kind, url, pids, size) as server:
            figures = loaded(server, file)
            figures |= {what: asked(server.url, path) for what, path in questions().items()}
            server_process = psutil.Process(server.pids[0])
            figures["memory, MB"] = server_process.memory_info().rss / 1e6
    return figures


@contextmanager
def store(kind: str, folder: Path) -> Iterator[tuple]:
    with ExitStack() as stack:
        if kind == "sqlite":
            yield f"sqlite:///{folder}/scale.db", lambda: lineage.folder_size(folder), []
        else:
            url, pid = stack.enter_context(lineage.postgres(folder / "pg"))
            yield url, lambda: lineage.database_size(url), [pid]


def loaded(server: lineage.Target, file: Path) -> dict[str, float]:
    before, began = cpu(server.pids), time.perf_counter()
    command = [sys.executable, "-m", "headwater.cli.main", "import", str(file)]
    subprocess.run([*command, "--server", server.url], check=True)
    took, events = time.perf_counter() - began, sum(1 for _ in file.open())
    lineage.rest()
    return {
        "import, events a second": events / took,
        "import, CPU of server and database an event, ms": (cpu(server.pids) - before)
        / events
        * 1e3,
        "disk, MB": server.size() / 1e6,
    }


def cpu(pids: list[int]) -> float:
    """Seconds of CPU that processes spent, those that they started (and ended) included."""
    spent = 0.0
    for pid in pids:
        process = psutil.Process(pid)
        spent += sum(process.cpu_times()[:4])
        spent += sum(sum(child.cpu_times()[:2]) for child in process.children(recursive=True))
    return spent


def questions() -> dict[str, str]:
    """What is asked about the first pipeline."""
    middle = f"pipeline_00000/step_{LENGTH // 2:02d}/0"
    node = quote(f"dataset:{SPACE}:{middle}", safe="")
    field = quote(f"datasetField:{SPACE}:{middle}:column_1", safe="")
    spaces = quote(SPACE, safe="")
    of_job = f"namespaces/team_0/jobs/{job(0, LENGTH // 2)}"
    return {
        "lineage, depth 20": f"lineage?nodeId={node}&depth=20",
        "columns, depth 20, both ways": f"column-lineage?nodeId={field}&depth=20&withDownstream=true",
        "impact of a column": f"impact?nodeId={field}",
        "one dataset": f"namespaces/{spaces}/datasets/{quote(middle, safe='')}",
        "its versions": f"namespaces/{spaces}/datasets/{quote(middle, safe='')}/versions",
        "one job": of_job,
        "its runs": f"{of_job}/runs",
        "jobs, 100": "jobs?limit=100",
        "search": "search?q=pipeline_00000&limit=20",
        "search, misspelt": "search?q=pipelne_00000&limit=20",
    }


def asked(url: str, path: str) -> float:
    """Milliseconds of an answer: the median."""
    times = []
    with httpx.Client(base_url=f"{url}/api/v1/", timeout=120) as client:
        for _ in range(ROUNDS):
            began = time.perf_counter()
            client.get(path).raise_for_status()
            times.append((time.perf_counter() - began) * 1e3)
    print(f"  {path[:60]}: {median(times):.1f} ms, first {times[0]:.1f}", flush=True)
    return median(times)


def report(jobs: int, columns: list[tuple[str, dict[str, float]]]) -> str:
    names = [name for name, _ in columns]
    datasets = jobs * WIDTH
    lines = [
        "# Benchmark: scale",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} (with the "
        f"work itself), a loop of two million steps takes {lineage.looped():.0f} ms, Python "
        f"{platform.python_version()}. Written by `benchmarks/scale.py`: {jobs:,} jobs, {datasets:,} "
        f"datasets and {datasets * COLUMNS:,} columns in pipelines of {LENGTH} jobs, loaded by "
        "`headwater import`. Questions are about one pipeline; times are medians of "
        f"{ROUNDS} answers in milliseconds, over HTTP. The ratio compares with a store that holds only "
        "this pipeline; what lists or searches everything has more to look through.",
        "",
        "| | " + " | ".join(f"{name} | ratio" if n % 2 else name for n, name in enumerate(names)) + " |",
        "|---|" + "---|" * (len(names) + len(names) // 2),
    ]  # fmt: skip
    for what in columns[0][1]:
        cells = []
        for (_, small), (_, large) in zip(columns[::2], columns[1::2], strict=True):
            ratio = f"{large[what] / small[what]:.1f}×" if what in questions() else ""
            cells += [f"{small[what]:,.1f}", f"{large[what]:,.1f}", ratio]
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
