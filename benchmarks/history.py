#!/usr/bin/env python3
"""How questions about history grow with the history: 10,000 jobs, few events and many.

    history.py                            10,000 and 1,000,000 events; writes docs/benchmarks/history.md
    history.py --events 200000            another size
    history.py --store postgresql://…     another store, empty

100 chains of 100 jobs; each table has ten columns of its own, 100,000 in all. Every run is a START
with datasets and a COMPLETE. Each fiftieth run of a job reads one table more or less and has a
column of another type. Answers are timed without HTTP, each asked of random nodes.
"""

import argparse
import json
import os
import platform
import random
import statistics
import time
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from headwater.model.graph import Way
from headwater.model.names import NodeId
from headwater.model.times import format_moment
from headwater.server.answers.changes import changes
from headwater.server.answers.diff import diff_around, diff_everywhere
from headwater.server.answers.graph import View
from headwater.server.answers.impact import reached
from headwater.server.answers.past import PastWalk, past_graph
from headwater.server.answers.reading import Reader
from headwater.server.answers.search import Wanted, search, search_all
from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store.aliases import AliasRules
from headwater.server.store.store import Store

JOBS, CHAIN, COLUMNS = 10_000, 100, 10
FEW = 10_000
BEGIN = 1_767_225_600_000_000  # 2026-01-01
STEP = 1_000_000  # microseconds between events
REPORT = Path(__file__).parent.parent / "docs" / "benchmarks" / "history.md"
NAMESPACE = "postgres://warehouse:5432"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--store", default=None)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    with TemporaryDirectory(prefix="headwater-") as folder:
        url = options.store or f"sqlite:///{folder}/history.db"
        store = Store(url, AliasRules(DEFAULT_ALIASES))
        began = time.monotonic()
        load(store, 0, FEW)
        few = measure(store, FEW, options.rounds)
        load(store, FEW, options.events)
        spent = time.monotonic() - began
        many = measure(store, options.events, options.rounds)
        size = store.database.size()
        kind = store.database.dialect
        store.close()
    report(kind, options.events, few, many, spent, size)


def load(store: Store, start: int, end: int) -> None:
    """Store events by the batch, as an import does."""
    batch, told = [], time.monotonic()
    for number in range(start, end):
        batch.append(store.read(event(number)))
        if len(batch) == 500:
            store.ingest(batch).result()
            batch = []
            if time.monotonic() - told > 15:
                told = time.monotonic()
                print(f"{number:,} events", flush=True)
    if batch:
        store.ingest(batch).result()


def event(number: int) -> bytes:
    """One event: jobs take turns, each with a START and then a COMPLETE."""
    round_, job = divmod(number, JOBS)
    run, is_end = divmod(round_, 2)
    place = job % CHAIN
    body = {
        "eventType": "COMPLETE" if is_end else "START",
        "eventTime": format_moment(BEGIN + number * STEP),
        "producer": "https://example.org/bench",
        "run": {"runId": str(uuid.UUID(int=job * 1_000_000 + run + 1))},
        "job": {"namespace": "bench", "name": f"job_{job:05d}"},
    }
    if not is_end:
        inputs = [job - 1] if place else []
        has_changed = (run + job) % 50 == 49
        if has_changed and place > 1:
            inputs.append(job - 2)
        body["inputs"] = [{"namespace": NAMESPACE, "name": table(i)} for i in inputs]
        body["outputs"] = [output(job, inputs, has_changed)]
    return json.dumps(body, separators=(",", ":")).encode()


def table(job: int) -> str:
    return f"table_{job:05d}"


def output(job: int, inputs: list[int], has_changed: bool) -> dict[str, object]:
    names = [f"c{job:05d}_{n}" for n in range(COLUMNS)]
    kinds = ["bigint" if has_changed and n == 0 else "string" for n in range(COLUMNS)]
    fields = {
        name: {"inputFields": [
            {"namespace": NAMESPACE, "name": table(i), "field": f"c{i:05d}_{n}",
             "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}]} for i in inputs
        ]}
        for n, name in enumerate(names)
    }  # fmt: skip
    told = [{"name": name, "type": kind} for name, kind in zip(names, kinds, strict=True)]
    return {"namespace": NAMESPACE, "name": table(job),
            "facets": {"schema": {"fields": told}, "columnLineage": {"fields": fields}}}  # fmt: skip


def measure(store: Store, events: int, rounds: int) -> dict[str, float]:
    """The median time of each question, in milliseconds."""
    reader = Reader(store.database, store.rules)
    chance = random.Random(7)
    # At three quarters of the time the jobs that are asked for were there in either history.
    middle, end = BEGIN + events * STEP // 4 * 3, BEGIN + events * STEP
    hour = 3600 * 1_000_000

    def job() -> int:
        return chance.randrange(JOBS // CHAIN // 2) * CHAIN + 50

    def as_of() -> object:
        with reader.open(middle) as reading:
            walk = PastWalk(reading)
            found = walk.naming.dataset_id(NAMESPACE, table(job()))
            if found is not None:
                walk.from_dataset(found, 5)
            return past_graph(reading, walk, View(), dated=False)

    def diff_node() -> object:
        with reader.open(middle) as reading:
            node = NodeId.parse(f"job:bench:job_{job():05d}")
            return node and diff_around(reading, reading._replace(at=end), node, 5)

    def diff_all() -> object:
        with reader.open(end - hour // 4) as reading:
            return diff_everywhere(reading, reading._replace(at=end))

    def changed() -> object:
        with reader.open() as reading:
            walk = PastWalk(reading, since=BEGIN)
            found = walk.naming.dataset_id(NAMESPACE, table(job()))
            if found is not None:
                walk.from_dataset(found, 2)
            return changes(reading, BEGIN, walk, 1000)

    def impact(node: str) -> object:
        with reader.open() as reading:
            parsed = NodeId.parse(node)
            return parsed and reached(reading, parsed, Way.DOWNSTREAM, 20)

    def find() -> object:
        with reader.open() as reading:
            text = f"c{job():05d}"
            return search_all(reading, text, ["job", "dataset", "column", "run"], None, 20)

    def find_misspelt() -> object:
        with reader.open() as reading:
            text = f"tabel_{job():05d}"
            return search_all(reading, text, ["job", "dataset", "column"], None, 20)

    def find_plain() -> object:
        with reader.open() as reading:
            return search(reading, Wanted(f"job_{job() // 100:03d}"), 100)

    questions = {
        "`asOf`, depth 5": as_of,
        "`diff` around a job, depth 5": diff_node,
        "`diff` everywhere, a quarter of an hour": diff_all,
        "`changes` around a dataset, depth 2": changed,
        "`impact` of a dataset, depth 20": lambda: impact(
            f"dataset:{NAMESPACE}:{table(job())}"),
        "`impact` of a column, depth 20": lambda: impact(
            f"datasetField:{NAMESPACE}:{table(j := job())}:c{j:05d}_3"),
        "search, all types": find,
        "search, misspelt": find_misspelt,
        "search, Marquez's": find_plain,
    }  # fmt: skip
    found = {}
    for name, ask in questions.items():
        ask()
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            msgspec.json.encode(ask())
            times.append((time.perf_counter() - start) * 1000)
        found[name] = statistics.median(times)
        print(f"{events:>9,}  {name:<42} {found[name]:8.2f} ms", flush=True)
    return found


def report(
    kind: str, events: int, few: dict[str, float], many: dict[str, float], spent: float, size: int
) -> None:
    lines = [
        "# History: how questions grow with it",
        "",
        f"{JOBS:,} jobs, {JOBS:,} tables, {JOBS * COLUMNS:,} columns on {kind}; {FEW:,} events, then "
        f"{events:,}. Loaded by the batch in {spent:,.0f} s; {size / 2**20:,.0f} MiB on disk. Medians, "
        "each question asked of random nodes, without HTTP. "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} "
        "while measured. `benchmarks/history.py` makes this page.",
        "",
        f"| Question | {FEW:,} events | {events:,} events | × |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {few[name]:.2f} ms | {many[name]:.2f} ms | {many[name] / few[name]:.1f} |"
        for name in few
    ]
    REPORT.write_text("\n".join(lines) + "\n")
    print(REPORT.read_text())


if __name__ == "__main__":
    main()
