"""Measures the page in real Chromium: first load, large graphs, frames while panning.

PYTHONPATH=tests python benchmarks/page_speed.py [--graphs dag1k] [--out FILE] [--images FOLDER]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import Browser, Page

from page.browser import launched
from server.process import ServerProcess

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
SIZE = {"width": 1280, "height": 800}
Figures = dict[str, float]

# Notes, inside the page, when something is first there: the way to us and back costs more.
WATCH = """
const wanted = { shell: "nav a", graph: ".node", everything: "canvas.far", details: ".panel h2" };
window.seen = {};
const look = () => {
  for (const [name, selector] of Object.entries(wanted)) {
    if (!(name in window.seen) && document.querySelector(selector)) {
      window.seen[name] = null;
      requestAnimationFrame(() => setTimeout(() => { window.seen[name] = performance.now(); }));
    }
  }
};
new MutationObserver(look).observe(document, { childList: true, subtree: true });
"""
LOADED = """() => [...performance.getEntriesByType("navigation"),
                   ...performance.getEntriesByType("resource")]
  .filter((one) => !one.name.includes("worker") && !one.name.includes("/api/"))
  .reduce((sum, one) => sum + one.encodedBodySize, 0) / 1024"""
MIDDLE = """() => {
  for (const one of document.querySelectorAll(".node .head")) {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    if (x > 100 && x < 1100 && y > 200 && y < 700) return { x, y };
  }
}"""
FRAMES = """() => new Promise((done) => {
  const times = [];
  const step = (time) => {
    times.push(time);
    if (times.length < 121) requestAnimationFrame(step);
    else {
      const gaps = times.slice(1).map((one, at) => one - times[at]).sort((a, b) => a - b);
      done({ rate: 120_000 / (times[120] - times[0]), p95: gaps[114] });
    }
  };
  requestAnimationFrame(step);
})"""


def noted(page: Page, name: str) -> float:
    """When something was first drawn, in milliseconds of the page's clock."""
    return float(page.wait_for_function(f"() => window.seen.{name}").json_value())


def pan(page: Page) -> tuple[float, float]:
    """Frames a second, and the slowest of twenty frames, while the graph is dragged about."""
    page.mouse.move(640, 400)
    page.mouse.down()
    page.evaluate(f"() => {{ window.frames_ = ({FRAMES})() }}")
    for step in range(90):
        page.mouse.move(640 + (step % 30) * 8, 400 + (step % 20) * 6)
        page.wait_for_timeout(16)
    found = page.evaluate("() => window.frames_")
    page.mouse.up()
    return found["rate"], found["p95"]


def nearer(page: Page) -> None:
    """Zoom in on the middle until nodes are cards."""
    page.mouse.move(640, 400)
    for _ in range(40):
        page.mouse.wheel(0, -240)
        page.wait_for_timeout(120)
        if page.locator(".node").count() > 0:
            return
    raise RuntimeError("no node was drawn as a card")


def measure(browser: Browser, url: str, picture: Path) -> Figures:
    """The way of a reader: the first page, all of the graph, over it, nearer, and a node."""
    context = browser.new_context(viewport=SIZE, base_url=url, color_scheme="light")  # type: ignore[arg-type]
    context.add_init_script(WATCH)
    page = context.new_page()
    page.set_default_timeout(180_000)
    page.goto("/lineage")
    figures = {
        "first load until the page is usable, ms": noted(page, "shell"),
        "first load until its graph is drawn, ms": noted(page, "graph"),
        "first load, KB transferred, without the layout worker": page.evaluate(LOADED),
    }
    start = page.evaluate("() => performance.now()")
    page.get_by_role("button", name="show all").click()
    figures["*show all* until drawn, ms"] = noted(page, "everything") - start
    figures["of that, the layout in its worker, ms"] = page.evaluate(
        "() => performance.getEntriesByName('layered').at(-1).duration"
    )
    page.wait_for_timeout(1000)
    page.screenshot(path=picture)
    far = pan(page)
    nearer(page)
    page.wait_for_timeout(500)
    if picture.stem == "dag1k":
        page.screenshot(path=picture.with_stem("dag1k-near"))
    near = pan(page)
    figures["panning, zoomed out, frames/s"], figures["panning, zoomed out, p95 ms"] = far
    figures["panning, zoomed in, frames/s"], figures["panning, zoomed in, p95 ms"] = near
    figures["a click on a node until its details show, ms"] = click(page)
    context.close()
    return figures


def click(page: Page) -> float:
    """A node's details, from the press of the mouse."""
    page.wait_for_timeout(500)
    page.evaluate("() => addEventListener('click', (e) => { window.at = e.timeStamp }, true)")
    spot = page.evaluate(MIDDLE)
    page.mouse.click(spot["x"], spot["y"])
    return noted(page, "details") - float(page.evaluate("() => window.at"))


def graph(browser: Browser, name: str, images: Path) -> Figures:
    """A server with the benchmark's graph, measured."""
    with tempfile.TemporaryDirectory() as folder:
        store, log = f"sqlite:///{folder}/page.db", Path(folder) / "server.log"
        with ServerProcess(store, log) as server:
            load = [sys.executable, str(HERE / "lineage_bench.py"), "load", server.url]
            subprocess.run([*load, "--graph", name], check=True, stdout=subprocess.DEVNULL)
            return measure(browser, server.url, images / f"{name}.png")


def report(found: dict[str, Figures], version: str) -> str:
    """What was measured, as a page of the documents."""
    lines = [
        "# Benchmark: web page",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, Chromium {version} without a display or a graphics card, "
        f"{os.cpu_count()} cores at a load of {os.getloadavg()[0]:.1f}. `dag1k` has 1,000 jobs "
        "(3,162 nodes), `dag5k` 5,000 (15,387). Written by `make bench`.",
        "",
        f"| Figure | {' | '.join(found)} |",
        f"|---|{'---:|' * len(found)}",
    ]
    for figure in next(iter(found.values())):
        told = " | ".join(f"{found[name][figure]:,.0f}" for name in found)
        lines.append(f"| {figure} | {told} |")
    for name in found:
        lines += ["", f"![All of {name}](../images/{name}.png)"]
    if "dag1k" in found:
        lines += ["", "![A part of dag1k](../images/dag1k-near.png)"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=DOCS / "benchmarks" / "page.md")
    parser.add_argument("--images", type=Path, default=DOCS / "images")
    parser.add_argument("--graphs", nargs="+", default=["dag1k", "dag5k"])
    given = parser.parse_args()
    with launched() as browser:
        found = {name: graph(browser, name, given.images) for name in given.graphs}
        told = report(found, browser.version)
    given.out.write_text(told)
    print(told)


if __name__ == "__main__":
    main()
