"""Measures the lineage server beside an earlier version of itself, in one run.

    python benchmarks/versions.py REVISION [--quick] [--calm MS] [--out docs/benchmarks/versions.md]

The earlier version is checked out and installed in a temporary folder. Both serve at the same time,
each from an empty store, and every part of the work goes to one and at once to the other, so that a
machine that becomes slower in between slows both.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil

import lineage
from lineage import Target

HERE = Path(__file__).parent
_ROUNDS = 10  # of ingest, one version after the other
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
        both = []
        for name, python in (("before", before), ("after", sys.executable)):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headwater-")))
            store, pids = f"sqlite:///{folder}/bench.db", []
            if kind == "PostgreSQL":
                store, pid = stack.enter_context(lineage.postgres(folder / "pg"))
                pids = [pid]
            one = stack.enter_context(
                lineage.started(f"{kind} {name}", store, pids, _size(kind, store, folder), python)
            )
            one.calm = calm
            both.append(one)
        yield both[0], both[1]


def _size(kind: str, store: str, folder: Path):
    if kind == "SQLite":
        return lambda: lineage.folder_size(folder)
    return lambda: lineage.database_size(store)


def measure(both: tuple[Target, Target], *, quick: bool) -> None:
    """Give all the work to both, part by part."""
    events = "200" if quick else "1000"
    sizes = [one.size() for one in both]
    for number in range(_ROUNDS):
        for one in both if number % 2 else both[::-1]:
            one.rounds += one.run("ingest", "--concurrency", "8", "-n", events)
    for one, size in zip(both, sizes, strict=True):
        one.figures["ingest: CPU an event, 8 at a time"] = _median(one, "cpu_ms_each")
        one.figures["ingest: events a second, 8 at a time"] = _median(one, "per_s")
        lineage.rest()
        events_stored = int(events) * _ROUNDS
        one.figures["disk for 10,000 events of 30 KB"] = (
            (one.size() - size) / 1e6 * 10_000 / events_stored
        )
        lineage.wide_event(one.url)  # the first one makes the caches that the next ones use
    for one in both:
        times = [lineage.wide_event(one.url) for _ in range(3)]
        one.figures["an event with 20,000 columns"] = statistics.median(times)
    for graph in ("chain100", "dag1k") if quick else ("chain100", "dag1k", "dag5k"):
        for one in both:
            one.load(graph)
        for one in (*both, *both[::-1]):
            one.read(graph, best=True)
    for one in both:
        rss = psutil.Process(one.pids[0]).memory_info().rss
        one.figures["memory after all of it"] = rss / 1e6


def _median(one: Target, name: str) -> float:
    return statistics.median(found[name] for found in one.rounds)


def report(revision: str, pairs: dict[str, tuple[Target, Target]]) -> str:
    """The figures as a page."""
    kinds = list(pairs)
    lines = [
        "# Benchmark: two versions of the lineage server",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} (with "
        f"the work itself), Python {platform.python_version()}. *Before* is `{revision}`. Written by "
        "`make compare`: both versions run at the same time and get each part of the work in turn. "
        f"A figure that is worse by more than {_WORSE - 1:.0%} is marked.",
        "",
        "| Work | " + " | ".join(f"{kind}: before | after | ratio" for kind in kinds) + " |",
        "|---|" + "---:|---:|---:|" * len(kinds),
    ]
    for what, unit, _, _ in lineage.ROWS:
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
    options = parser.parse_args()
    measured = {}
    with installed(options.revision) as before:
        for kind in ("SQLite", "PostgreSQL"):
            with pair(before, kind, options.calm) as both:
                measure(both, quick=options.quick)
            measured[kind] = both
    options.out.write_text(report(options.revision, measured))
    print(options.out.read_text())


if __name__ == "__main__":
    main()
