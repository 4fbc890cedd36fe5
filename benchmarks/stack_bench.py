"""How fast and how big the local platform is; one JSON object a measurement on stdout.

    .venv/bin/python benchmarks/stack_bench.py [--cold]

`--cold` also starts from an empty cache, which fetches every jar.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

JVMS = ("kafka", "registry", "s3", "metastore")
RUNS = 3


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="stack-bench-") as folder:
        if "--cold" in sys.argv:
            cold = {"HEADWATER_CACHE": str(Path(folder, "cache"))}
            tell("start_cold_cache_s", start(Path(folder, "cold"), cold)[0], limit=None)
        headwater("fetch")
        first, again, memory = [], [], []
        for run in range(RUNS):
            home = Path(folder, f"home{run}")
            first.append(start(home)[0])
            seconds, resident = start(home)
            again.append(seconds)
            memory.append(resident)
        tell("start_full_cache_new_home_s", median(first), limit=25)
        tell("start_full_cache_used_home_s", median(again), limit=25)
        tell("four_jvms_rss_mb", median(memory), limit=1300)


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


def tell(name: str, value: float, limit: float | None) -> None:
    measurement = {"bench": "stack", "name": name, "value": round(value, 1), "limit": limit}
    print(json.dumps({**measurement, "load": round(os.getloadavg()[0], 1)}), flush=True)


if __name__ == "__main__":
    main()
