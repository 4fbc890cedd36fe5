"""Measures how long /health takes, and how much memory the server holds, under hostile requests.

    python benchmarks/hostile.py [--store sqlite|postgresql] [--crowd 300] [--only TEXT] [--out FILE]
                                 [--rows FILE]

`--rows` keeps each measurement, so that a run that was ended goes on where it stopped.

Each request has at most 64 KB on the wire (tests/server/hostile.py). It is sent alone, and then many
times at once, while another process asks /health ten times a second.
"""

import argparse
import asyncio
import json
import multiprocessing as mp
import os
import platform
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import httpx
import psutil
from yarl import URL

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from server import hostile
from server.events import as_bytes, dataset, facet, run_event, schema
from server.process import ServerProcess
from server.stores import open_stores

EVERY = 0.1  # seconds between two questions for /health
TARGET_MS, TARGET_MB = 500, 600


def ask(url: str, pid: int, told, stop) -> None:
    """Ask /health until the end; keep the longest answer and the largest memory since last told."""
    process = psutil.Process(pid)
    with httpx.Client(timeout=120) as client:
        while not stop.is_set():
            begun = time.perf_counter()
            code = client.get(f"{url}/health").status_code
            took = (time.perf_counter() - begun) * 1000
            told.put((begun, took, code, process.memory_info().rss / 2**20))
            time.sleep(EVERY)


async def send(url: str, request: hostile.Hostile, crowd: int) -> dict[int, int]:
    """Send a request so many times at once; how often each status came."""
    statuses: dict[int, int] = {}
    timeout = aiohttp.ClientTimeout(total=600)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:

        async def one(number: int) -> None:
            sent = hostile.varied(request, number)
            address = URL(url + sent.path, encoded=True)
            try:
                async with session.request(
                    sent.method, address, data=sent.body or None, headers=sent.headers
                ) as answer:
                    async for _ in answer.content.iter_any():
                        pass
                    code = answer.status
            except aiohttp.ClientError:
                code = 0
            statuses[code] = statuses.get(code, 0) + 1

        await asyncio.gather(*(one(number) for number in range(crowd)))
    return statuses


def fill(server: ServerProcess) -> None:
    """Give the store events of 110 KB to be asked for."""
    columns = [f"column_{i}" for i in range(1200)]
    for number in range(400):
        table = dataset(f"table_{number % 50}", schema=schema(*columns))
        event = run_event(
            "COMPLETE",
            number / 60,
            run=f"{number}",
            job=f"job_{number % 50}",
            outputs=[table],
            x=facet(number=number),
        )
        server.api.post(as_bytes(event)).raise_for_status()


def measure(url: str, told, request: hostile.Hostile, crowd: int):
    while not told.empty():
        told.get()
    begun = time.perf_counter()
    statuses = asyncio.run(send(url, request, crowd))
    took = time.perf_counter() - begun
    time.sleep(2 * EVERY)
    answers = [told.get()]
    while not told.empty() or answers[-1][0] < begun + took:
        answers.append(told.get())
    worst = max(a[1] for a in answers)
    assert all(a[2] == 200 for a in answers)
    return took, worst, max(a[3] for a in answers), statuses


def run(kind: str, crowd: int, only: str, kept: Path | None):
    done = [row[1:] for row in read_rows(kept) if row[0] == kind]
    rows = [(*row[:5], {int(code): n for code, n in row[5].items()}) for row in done]
    measured = {(row[0], row[1]) for row in rows}
    with open_stores() as stores, tempfile.TemporaryDirectory() as folder:
        url = stores.new(kind)
        with ServerProcess(url, Path(folder, "log")) as server:
            fill(server)
            told, stop = mp.Queue(), mp.Event()
            asker = mp.Process(target=ask, args=(server.url, server.process.pid, told, stop))
            asker.start()
            requests = [r for r in (*hostile.bodies(), *hostile.questions()) if only in r.name]
            for count in (1, crowd):
                for request in requests:
                    if (request.name, count) in measured:
                        continue
                    took, worst, memory, statuses = measure(server.url, told, request, count)
                    bad = {c for c in statuses if c not in request.allowed}
                    row = (request.name, count, took, worst, memory, statuses)
                    rows.append(row)
                    if kept is not None:
                        with kept.open("a") as file:
                            file.write(json.dumps([kind, *row]) + "\n")
                    mark = "!" if worst > TARGET_MS or memory > TARGET_MB or bad else " "
                    print(
                        f"{mark} {count:4} × {request.name[:60]:60} {took:7.1f} s "
                        f"health {worst:7.0f} ms  {memory:5.0f} MB  {statuses}",
                        flush=True,
                    )
            stop.set()
            asker.join()
    return rows


def read_rows(kept: Path | None) -> list:
    """What an earlier run measured."""
    if kept is None or not kept.exists():
        return []
    return [json.loads(line) for line in kept.read_text().splitlines()]


def report(results, out: Path, crowd: int) -> None:
    today = datetime.now(UTC).date()
    lines = [
        "# Hostile requests",
        "",
        f"{today}, {os.cpu_count()} cores, Python {platform.python_version()}. Made by `make hostile`.",
        "",
        "Each request has at most 64 KB on the wire and is made to cost far more: it grows when it is",
        "decompressed, decoded, searched for secrets or stored, or asks for too much. It is sent alone and",
        f"then {crowd} times at once, while another process asks `/health` ten times a second. The aim:",
        f"`/health` answers within {TARGET_MS} ms and the server holds less than {TARGET_MB} MB.",
        "",
    ]
    for kind, rows in results.items():
        for count in (1, crowd):
            some = [r for r in rows if r[1] == count]
            if not some:
                continue
            lines += [f"## {kind}, {'alone' if count == 1 else f'{count} at once'}", ""]
            lines += [
                "| Request | Answers | Time to the last | Longest `/health` | Memory |",
                "|---|---|--:|--:|--:|",
            ]
            for name, _, took, worst, memory, statuses in some:
                told = ", ".join(f"{c}: {n}" for c, n in sorted(statuses.items()))
                missed = " **missed**" if worst > TARGET_MS else ""
                over = " **missed**" if memory > TARGET_MB else ""
                safe = name.replace("|", "\\|").replace("*", "\\*")
                lines.append(
                    f"| {safe} | {told} | {took:.1f} s | {worst:.0f} ms{missed} | {memory:.0f} MB{over} |"
                )
            lines.append("")
    out.write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", choices=["sqlite", "postgresql"])
    parser.add_argument("--crowd", type=int, default=300)
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    kinds = [given.store] if given.store else ["sqlite", "postgresql"]
    results = {kind: run(kind, given.crowd, given.only, given.rows) for kind in kinds}
    if given.out:
        report(results, given.out, given.crowd)


if __name__ == "__main__":
    main()
