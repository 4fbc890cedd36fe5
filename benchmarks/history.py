#!/usr/bin/env python3
"""How questions about history grow with the history: 10,000 jobs, few events and many.

    history.py                            10,000 and 1,000,000 events; writes docs/benchmarks/history.md
    history.py --events 200000            another size
    history.py --few URL --many URL       two other stores, empty

100 chains of 100 jobs; each table has ten columns of its own, 100,000 in all. Every run is a START
with datasets and a COMPLETE. Each fiftieth run of a job reads one table more or less and has a
column of another type. Answers are timed without HTTP, each asked of random nodes, the two
histories in turns.
"""

import argparse
import json
import os
import platform
import random
import statistics
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from headwater.openlineage.graph import Way
from headwater.openlineage.names import NodeId
from headwater.openlineage.times import format_moment
from headwater.server.lineage.changes import changes
from headwater.server.lineage.diff import diff_around, diff_everywhere
from headwater.server.lineage.impact import reached
from headwater.server.lineage.search import Wanted, search_all
from headwater.server.lineage.view import StoreViews
from headwater.server.lineage.walk import Walk
from headwater.server.marquez.graph import GraphOptions, lineage_graph
from headwater.server.marquez.search import search
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
    parser.add_argument("--few", default=None)
    parser.add_argument("--many", default=None)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--out", type=Path, default=REPORT)
    options = parser.parse_args()
    with TemporaryDirectory(prefix="headwater-") as folder:
        few, many = (
            Store(url or f"sqlite:///{folder}/{name}.db", AliasRules(DEFAULT_ALIASES))
            for name, url in (("few", options.few), ("many", options.many))
        )
        load(few, FEW)
        began = time.monotonic()
        load(many, options.events)
        spent = time.monotonic() - began
        figures = measure(few, many, options.events, options.rounds)
        text = report(many, options.events, figures, spent)
        few.close()
        many.close()
    options.out.write_text(text)
    print(text)


def load(store: Store, events: int) -> None:
    """Store events by the batch, as an import does."""
    batch, told = [], time.monotonic()
    for number in range(events):
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


def measure(
    few: Store, many: Store, events: int, rounds: int
) -> dict[str, tuple[float, float]]:  # fmt: skip
    """The median time of each question of the two histories, in milliseconds."""
    found = {}
    asked = [questions(few, FEW), questions(many, events)]
    for name in asked[0]:
        times: list[list[float]] = [[], []]
        for turn in range(rounds + 1):
            for one, taken in zip(asked, times, strict=True):
                start = time.perf_counter()
                msgspec.json.encode(one[name]())
                if turn:  # the first finds nothing at hand
                    taken.append((time.perf_counter() - start) * 1000)
        found[name] = statistics.median(times[0]), statistics.median(times[1])
        print(f"{name:<42} {found[name][0]:8.2f} ms {found[name][1]:8.2f} ms", flush=True)
    return found


def questions(store: Store, events: int) -> dict[str, Callable[[], object]]:
    """What is asked of a history."""
    views = StoreViews(store.database, store.rules)
    chance = random.Random(7)
    # At three quarters of the time the jobs that are asked for were there in either history.
    middle, end = BEGIN + events * STEP // 4 * 3, BEGIN + events * STEP
    hour = 3600 * 1_000_000

    def job() -> int:
        return chance.randrange(JOBS // CHAIN // 2) * CHAIN + 50

    def as_of() -> object:
        with views.open_view(middle) as view:
            walk = Walk(view)
            found = view.dataset_id(NAMESPACE, table(job()))
            if found is not None:
                walk.from_dataset(found, 5)
            return lineage_graph(view, walk, GraphOptions())

    def diff_node() -> object:
        with views.open_view(middle) as view:
            node = NodeId.parse(f"job:bench:job_{job():05d}")
            return node and diff_around(view, view.at_moment(end), node, 5)

    def diff_all() -> object:
        with views.open_view(end - hour // 4) as view:
            return diff_everywhere(view, view.at_moment(end))

    def changed() -> object:
        with views.open_view() as view:
            walk = Walk(view, since=BEGIN)
            found = view.dataset_id(NAMESPACE, table(job()))
            if found is not None:
                walk.from_dataset(found, 2)
            return changes(view, BEGIN, walk, 1000)

    def impact(node: str) -> object:
        with views.open_view() as view:
            parsed = NodeId.parse(node)
            return parsed and reached(view, parsed, Way.DOWNSTREAM, 20)

    def find() -> object:
        with views.open_view() as view:
            text = f"c{job():05d}"
            return search_all(view, text, ["job", "dataset", "column", "run"], None, 20)

    def find_misspelt() -> object:
        with views.open_view() as view:
            text = f"tabel_{job():05d}"
            return search_all(view, text, ["job", "dataset", "column"], None, 20)

    def find_plain() -> object:
        with views.open_view() as view:
            return search(view, Wanted(f"job_{job() // 100:03d}"), 100)

    return {
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


def report(
    store: Store, events: int, figures: dict[str, tuple[float, float]], spent: float
) -> str:  # fmt: skip
    lines = [
        "# Benchmark: history",
        "",
        f"{JOBS:,} jobs, {JOBS:,} tables, {JOBS * COLUMNS:,} columns on {store.database.dialect}; "
        f"{FEW:,} events, and {events:,}. Loaded in batches in {spent:,.0f} s; "
        f"{store.database.size() / 2**20:,.0f} MiB on disk. Medians of queries for random nodes, "
        "alternating between the two stores, without HTTP. "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} "
        "during the measurement. Written by `benchmarks/history.py`.",
        "",
        f"| Query | {FEW:,} events | {events:,} events | × |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {few:.2f} ms | {many:.2f} ms | {many / few:.1f} |"
        for name, (few, many) in figures.items()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
