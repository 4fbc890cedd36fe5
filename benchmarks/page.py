"""Measures the page in real Chromium: first load, large graphs, frames while panning.

PYTHONPATH=tests python benchmarks/page.py [--out docs/benchmarks/page.md] [--graphs dag1k]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from page.browser import launched
from server.process import ServerProcess

HERE = Path(__file__).parent
FRAMES = """() => new Promise((done) => {
  const times = [];
  const step = (time) => {
    times.push(time);
    if (times.length < 121) requestAnimationFrame(step);
    else {
      const gaps = times.slice(1).map((one, at) => one - times[at]).sort((a, b) => a - b);
      done({ median: gaps[60], p95: gaps[114] });
    }
  };
  requestAnimationFrame(step);
})"""
LAYOUT = "() => performance.getEntriesByName('layout').at(-1)?.duration"


def pan(page) -> dict[str, float]:
    page.mouse.move(640, 400)
    page.mouse.down()
    page.evaluate(f"() => {{ window.frames_ = ({FRAMES})() }}")
    for step in range(90):
        page.mouse.move(640 + (step % 30) * 8, 400 + (step % 20) * 6)
        page.wait_for_timeout(16)
    found = page.evaluate("() => window.frames_")
    page.mouse.up()
    return found


def measure(browser, url: str) -> dict[str, float]:
    page = browser.new_context(viewport={"width": 1280, "height": 800}, base_url=url).new_page()
    page.set_default_timeout(120_000)
    start = time.perf_counter()
    page.goto("/lineage")
    page.wait_for_selector(".node")
    figures = {"first load until the graph is drawn, ms": (time.perf_counter() - start) * 1000}
    start = time.perf_counter()
    page.goto("/lineage?everything=1")
    page.wait_for_selector("canvas.far")
    figures["everything, until it is drawn, ms"] = (time.perf_counter() - start) * 1000
    figures["its layout, ms"] = page.evaluate(LAYOUT)
    page.wait_for_timeout(1000)
    far = pan(page)
    for _ in range(10):
        page.mouse.wheel(0, -300)
        page.wait_for_timeout(150)
    page.wait_for_timeout(500)
    near = pan(page)
    figures["frame while panning, far, median ms"] = far["median"]
    figures["frame while panning, far, p95 ms"] = far["p95"]
    figures["frame while panning, near, median ms"] = near["median"]
    figures["frame while panning, near, p95 ms"] = near["p95"]
    page.context.close()
    return figures


def graph(browser, name: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        store, log = f"sqlite:///{folder}/page.db", Path(folder) / "server.log"
        with ServerProcess(store, log) as server:
            load = [sys.executable, str(HERE / "lineage_bench.py"), "load", server.url]
            subprocess.run([*load, "--graph", name], check=True, stdout=subprocess.DEVNULL)
            return measure(browser, server.url)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs/benchmarks/page.md")
    parser.add_argument("--graphs", nargs="+", default=["dag1k", "dag5k"])
    given = parser.parse_args()
    with launched() as browser:
        found = {name: graph(browser, name) for name in given.graphs}
        version = browser.version
    lines = [
        "# The page, measured",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, Chromium {version} without a display or a graphics card, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} (with the work itself). `dag1k` has "
        "1,000 jobs (3,162 nodes), `dag5k` 5,000 (15,387). Made by `make bench`.",
        "",
        f"| Figure | {' | '.join(found)} |",
        f"|---|{'---|' * len(found)}",
    ]
    for figure in found[given.graphs[0]]:
        told = " | ".join(f"{found[name][figure]:,.0f}" for name in found)
        lines.append(f"| {figure} | {told} |")
    given.out.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
