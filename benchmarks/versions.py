"""Measures the lineage server beside an earlier version of itself, in one run.

    python benchmarks/versions.py REVISION [--quick] [--calm MS] [--out docs/benchmarks/versions.md]

The earlier version is checked out and installed in a temporary folder. Both serve at the same time,
each from an empty store, and every request goes to one and at once to the other, so that a machine
that becomes slower in between slows both.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import count
from math import inf
from pathlib import Path

import psutil

import lineage
import lineage_bench as bench
from lineage import Target

HERE = Path(__file__).parent
_ROUNDS = 10  # of ingest, one version after the other
_REQUESTS = 31  # of each kind to each version, in turn
_STARTS = 5
_WIDE = 5  # events with 20,000 columns
_WORSE = 1.1  # the ratio from which on a figure is marked


@contextmanager
def installed(revision: str) -> Iterator[str]:
    """The Python of an environment that has another version of the project."""
    root = HERE.parent
    with tempfile.TemporaryDirectory(prefix="headwater-") as folder:
        place = Path(folder, "before")
        subprocess.run(
            ["git", "worktree", "add", "--detach", "--quiet", str(place), revision],
            cwd=root, check=True,
        )  # fmt: skip
        try:
            subprocess.run(["make", "--silent", ".venv/.installed"], cwd=place, check=True)
            yield str(place / ".venv/bin/python")
        finally:
            subprocess.run(
                ["git", "worktree", "remove", "--force", str(place)], cwd=root, check=True
            )


@contextmanager
def pair(before: str, kind: str, calm: float) -> Iterator[tuple[Target, Target]]:
    """Both versions, each on an empty store of one kind."""
    with ExitStack() as stack:
        stores = {}
        for name, python in (("before", before), ("after", sys.executable)):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headwater-")))
            store, pids = f"sqlite:///{folder}/bench.db", []
            if kind == "PostgreSQL":
                store, pid = stack.enter_context(lineage.postgres(folder / "pg"))
                pids = [pid]
            stores[f"{kind} {name}"] = store, pids, _size(kind, store, folder), python
        starts = _start_times({name: (one[0], one[3]) for name, one in stores.items()})
        both = []
        for name, made in stores.items():
            one = stack.enter_context(lineage.started(name, *made))
            one.calm, one.figures["start-up"] = calm, min(starts[name])
            both.append(one)
        yield both[0], both[1]


def _start_times(stores: dict[str, tuple[str, str]]) -> dict[str, list[float]]:
    """Seconds that starts take on stores that have their tables, in turn."""
    took: dict[str, list[float]] = {name: [] for name in stores}
    for _ in range(_STARTS + 1):
        for name, (store, python) in stores.items():
            begun = time.perf_counter()
            with lineage.running(*lineage.serving(store, python)):
                took[name].append(time.perf_counter() - begun)
    return {name: times[1:] for name, times in took.items()}


def _size(kind: str, store: str, folder: Path):
    if kind == "SQLite":
        return lambda: lineage.folder_size(folder)
    return lambda: lineage.database_size(store)


def measure(both: tuple[Target, Target], *, quick: bool) -> None:
    """Give all the work to both, request by request."""
    events = "200" if quick else "1000"
    sizes = [one.size() for one in both]
    for one in _in_turn(both, _ROUNDS):
        one.rounds += one.run("ingest", "--concurrency", "8", "-n", events)
    for one, size in zip(both, sizes, strict=True):
        one.figures["ingest: CPU an event, 8 at a time"] = min(r["cpu_ms_each"] for r in one.rounds)
        one.figures["ingest: events a second, 8 at a time"] = max(r["per_s"] for r in one.rounds)
        lineage.rest()
        events_stored = int(events) * _ROUNDS
        one.figures["disk for 10,000 events of 30 KB"] = (
            (one.size() - size) / 1e6 * 10_000 / events_stored
        )
    for graph in ("chain100", "dag1k") if quick else ("chain100", "dag1k", "dag5k"):
        for one in both:
            one.load(graph)
        client = _Client(both)  # anew: servers close a connection that is idle while a graph loads
        for name, path in bench.questions(graph).items():
            _time(both, f"{graph}: {name}", partial(client.ask, path=path))
    columns = (f"column_{number}" for number in count())  # new ones in each event
    _time(both, "an event with 20,000 columns", partial(_wide, columns=columns), _WIDE)
    for one in both:
        rss = psutil.Process(one.pids[0]).memory_info().rss
        one.figures["memory after all of it"] = rss / 1e6


def _in_turn(both: tuple[Target, Target], rounds: int) -> Iterator[Target]:
    """One and at once the other, each as often first."""
    for number in range(rounds):
        yield from both if number % 2 else both[::-1]


def _wide(one: Target, *, columns: Iterator[str]) -> float:
    return lineage.wide_event(one.url, next(columns))


def _time(
    both: tuple[Target, Target],
    what: str,
    request: Callable[[Target], float],
    rounds: int = _REQUESTS,
) -> None:
    """Note the least that requests take that go to both in turn: the rest is other work's."""
    for one in _in_turn(both, rounds):
        one.figures[what] = min(request(one), one.figures.get(what, inf))
    print(f"  {what}: " + ", ".join(f"{one.name} {one.figures[what]:.2f} ms" for one in both))


class _Client:
    """Asks each server over one connection."""

    def __init__(self, both: tuple[Target, Target]) -> None:
        hosts = {one.name: one.url.removeprefix("http://") for one in both}
        self._connections = {n: HTTPConnection(host, timeout=60) for n, host in hosts.items()}

    def ask(self, one: Target, *, path: str) -> float:
        """Milliseconds until the whole answer is there."""
        connection = self._connections[one.name]
        begun = time.perf_counter()
        connection.request("GET", f"/api/v1{path}")
        answer = connection.getresponse()
        answer.read()
        if answer.status != HTTPStatus.OK:
            raise RuntimeError(f"{one.name} answered {answer.status} to {path}")
        return (time.perf_counter() - begun) * 1000


def _rows(pairs: dict[str, tuple[Target, Target]]) -> list[tuple[str, str]]:
    """What was measured, with its unit: first the rows of the benchmark's own table."""
    units = {what: unit for what, unit, _, _ in lineage.ROWS}
    for before, _ in pairs.values():
        units |= {what: "ms" for what in before.figures if what not in units}
    return [*units.items()]


def report(revision: str, pairs: dict[str, tuple[Target, Target]]) -> str:
    """The figures as a page."""
    kinds = list(pairs)
    lines = [
        "# Benchmark: two versions of the lineage server",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} (with "
        f"the work itself), Python {platform.python_version()}. *Before* is `{revision}`. Written by "
        "`make compare`: both versions run at the same time and get each request in turn. Figures "
        f"are the best of {_REQUESTS} requests, those of ingest of {_ROUNDS} rounds: the machine is "
        "faster and slower by turns, many times a minute. "
        f"A figure that is worse by more than {_WORSE - 1:.0%} is marked.",
        "",
        "| Work | " + " | ".join(f"{kind}: before | after | ratio" for kind in kinds) + " |",
        "|---|" + "---:|---:|---:|" * len(kinds),
    ]
    for what, unit in _rows(pairs):
        cells = []
        for before, after in pairs.values():
            old, new = before.figures.get(what), after.figures.get(what)
            if old is None or new is None:
                break
            ratio = old / new if unit == "/s" else new / old
            mark = " **worse**" if ratio > _WORSE else ""
            cells.append(f"{old:,.3g} {unit} | {new:,.3g} {unit} | {ratio:.2f}{mark}")
        if cells:
            lines.append(f"| {what} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "The ratio is the time, memory or disk after, divided by that before; for events a second it "
        "is the other way round, so that less than 1 is better everywhere. Milliseconds for a Python "
        "loop of two million steps, before each part (the speed of the machine):",
        "",
    ]
    for both in pairs.values():
        for one in both:
            lines.append(f"- {one.name}: {', '.join(f'{ms:.0f}' for ms in one.paces)}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision", help="a commit, tag or branch")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--calm", type=float, default=float("inf"), metavar="MS")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs/benchmarks/versions.md")
    parser.add_argument("--python", help="of an environment that has the earlier version already")
    options = parser.parse_args()
    given, measured = options.python, {}
    with nullcontext(given) if given else installed(options.revision) as before:
        for kind in ("SQLite", "PostgreSQL"):
            with pair(before, kind, options.calm) as both:
                measure(both, quick=options.quick)
            measured[kind] = both
    options.out.write_text(report(options.revision, measured))
    print(options.out.read_text())


if __name__ == "__main__":
    main()
