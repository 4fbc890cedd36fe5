"""What those who watch cost: a server without them and with 500, under the same events.

    python benchmarks/live.py [--clients 500] [--seconds 20] [--out docs/benchmarks/live.md]

Ten events a second come in. Each client reads the whole stream; how long an event takes from
being sent to the last client's socket is measured, and what the server spends.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import tempfile
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psutil

from lineage import running, serving

HERE = Path(__file__).parent
RATE = 10


class Watchers:
    """Clients of the stream, and when each run reached how many of them."""

    def __init__(self, port: int, count: int) -> None:
        self.port, self.count = port, count
        self.reached: dict[str, list[float]] = {}
        self.tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        opened = [asyncio.Event() for _ in range(self.count)]
        self.tasks = [asyncio.create_task(self.watch(one)) for one in opened]
        await asyncio.gather(*(one.wait() for one in opened))

    async def watch(self, opened: asyncio.Event) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"GET /api/v1/stream?types=run HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        opened.set()
        while line := await reader.readline():
            if line.startswith(b"data:") and b'"runId"' in line:
                told = json.loads(line[5:])
                self.reached.setdefault(told["runId"], []).append(time.perf_counter())

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def measure(url: str, process: psutil.Process, clients: int, seconds: float):
    """Events a second for a while; what the server spent, and when the last client had each."""
    watchers = Watchers(int(url.rpartition(":")[2]), clients)
    await watchers.open()
    sent: dict[str, float] = {}
    before, begun = cpu(process), time.perf_counter()
    async with httpx.AsyncClient() as client:
        for number in range(int(seconds * RATE)):
            await asyncio.sleep(max(0.0, begun + number / RATE - time.perf_counter()))
            run = str(uuid.uuid4())
            sent[run] = time.perf_counter()
            answer = await client.post(f"{url}/api/v1/lineage", json=event(run))
            assert answer.status_code == 201, answer.text
    await asyncio.sleep(2)
    spent = (cpu(process) - before) / (time.perf_counter() - begun)
    memory = process.memory_info().rss / 2**20
    await watchers.close()
    late = [max(times) - sent[run] for run, times in watchers.reached.items() if run in sent]
    whole = sum(len(watchers.reached.get(run, ())) == clients for run in sent)
    return spent * 100, memory, late, whole, len(sent)


def event(run: str) -> dict[str, object]:
    return {
        "eventType": "START",
        "eventTime": datetime.now(UTC).isoformat(),
        "producer": "https://example.org/bench",
        "run": {"runId": run},
        "job": {"namespace": "bench", "name": f"job_{run[0]}"},
    }


def cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def report(rows: list[tuple[int, float, float, list[float], int, int]]) -> str:
    lines = [
        "# Benchmark: live stream",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} (with "
        f"the clients themselves), Python {platform.python_version()}. {RATE} events a second; each "
        "client of `/api/v1/stream` reads all of them. Written by `benchmarks/live.py`.",
        "",
        "| Clients | CPU of the server, % of a core | memory | events that every client received | "
        "delay of the last client: median | maximum |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for clients, spent, memory, late, whole, sent in rows:
        took = (
            f"{statistics.median(late) * 1000:,.0f} ms | {max(late) * 1000:,.0f} ms"
            if late
            else "|"
        )
        lines.append(
            f"| {clients} | {spent:.1f} % | {memory:.0f} MB | {whole} of {sent} | {took} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs/benchmarks/live.md")
    options = parser.parse_args()
    os.environ["HEADWATER_MAX_STREAMS"] = str(options.clients)
    rows = []
    with tempfile.TemporaryDirectory(prefix="headwater-") as folder:
        command, url = serving(f"sqlite:///{folder}/live.db")
        with running(command, url) as pid:
            for clients in (0, 1, options.clients):
                found = asyncio.run(measure(url, psutil.Process(pid), clients, options.seconds))
                rows.append((clients, *found))
    options.out.write_text(report(rows))
    print(options.out.read_text())


if __name__ == "__main__":
    main()
