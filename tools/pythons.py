"""Install the wheel with each Python there is, and run the demo with it.

    .venv/bin/python tools/pythons.py [/usr/bin/python3 python3.13]

Without names it takes every version from 3.11 on that is on PATH, in pyenv or managed by uv. Each
gets a fresh environment with the versions of the lock, and a row in docs/pythons.md.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "pythons.md"
OLDEST = (3, 11)
EXTRAS = "pipeline,server,stack,kafka"
ABOUT = "import json, platform, sys; print(json.dumps([platform.python_version(), sys.prefix]))"


class Row(NamedTuple):
    """What came of one Python."""

    version: str
    installed_s: float
    doctor: str
    demo: str
    demo_s: float
    right: bool


def main(names: list[str]) -> int:
    """Run each Python in turn, print the table and write it."""
    wheel = next((ROOT / "dist").glob("*.whl"))
    rows = []
    for version, python in sorted(interpreters(names).items()):
        print(f"Python {'.'.join(map(str, version))} at {python}", file=sys.stderr)
        rows.append(attempt(python, wheel))
        print(line(rows[-1]), file=sys.stderr)
    PAGE.write_text(page(rows))
    print(page(rows))
    return not rows or not all(row.right for row in rows)


def interpreters(names: list[str]) -> dict[tuple[int, ...], Path]:
    """One interpreter for each version."""
    found: dict[tuple[int, ...], Path] = {}
    for path in map(Path, filter(None, map(shutil.which, names or candidates()))):
        done = subprocess.run([path, "-c", ABOUT], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            number = tuple(map(int, re.findall(r"\d+", json.loads(done.stdout)[0])[:3]))
            if number >= OLDEST:
                found.setdefault(number, path)
    return found


def candidates() -> Iterator[str]:
    """Where interpreters may be: the system's first."""
    yield "/usr/bin/python3"
    yield "python3"
    yield from (f"python3.{minor}" for minor in range(OLDEST[1], 20))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, pyenv.glob("versions/*/bin/python"))
    uv = Path(sys.executable).with_name("uv")
    managed = subprocess.run([uv, "python", "dir"], capture_output=True, text=True, check=True)
    yield from map(str, Path(managed.stdout.strip()).glob("*/bin/python3"))


def attempt(python: Path, wheel: Path) -> Row:
    """Install into a fresh environment, ask the doctor, run the demo."""
    with tempfile.TemporaryDirectory(prefix="headwater-python-") as work:
        home = Path(work)
        began = time.monotonic()
        subprocess.run([python, ROOT / "tools" / "environment.py", home / "venv"], check=True)
        subprocess.run(
            [
                home / "venv/bin/uv", "pip", "install", "--quiet",
                "--python", home / "venv/bin/python",
                "--constraints", ROOT / "requirements.txt", f"{wheel}[{EXTRAS}]",
            ],
            check=True,
            cwd=home,
        )  # fmt: skip
        installed = time.monotonic() - began
        doctor = json.loads(headwater(home, "doctor", "--json").stdout)
        version, result = next(
            (one["fact"].partition(" ")[0], one["level"])
            for one in doctor
            if one["check"] == "python"
        )
        began = time.monotonic()
        demo = headwater(home, "demo", "--once", "--free-ports", "--limit", "600")
        took = time.monotonic() - began
        if demo.returncode:
            print(demo.stdout, demo.stderr, sep="\n", file=sys.stderr)
        return Row(version, installed, result, verdict(demo), took, demo.returncode == 0)


def headwater(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the installed command, away from the checkout."""
    environ = {**os.environ, "HEADWATER_HOME": str(home / "data"), "NO_COLOR": "1"}
    environ.pop("PYTHONPATH", None)
    command = [home / "venv/bin/headwater", *arguments]
    return subprocess.run(
        command, cwd=home, env=environ, capture_output=True, text=True, check=False
    )


def verdict(demo: "subprocess.CompletedProcess[str]") -> str:
    """What the demo said of its facts, else its error."""
    said = demo.stdout + demo.stderr
    facts = re.findall(r"\d+ of \d+ facts[^\n]*", said)
    errors = re.findall(r"error: [^\n]*", said)
    return (facts or errors or [f"ended with status {demo.returncode}"])[-1]


def line(row: Row) -> str:
    """A row of the table."""
    return (
        f"| {row.version} | {row.installed_s:.0f} s | {row.doctor} | {row.demo} "
        f"| {row.demo_s:.0f} s |"
    )


def page(rows: list[Row]) -> str:
    """The page with the table."""
    return "\n".join([HEAD, *map(line, rows), ""])


HEAD = """# Python versions

Headwater runs on Python 3.11.0 and newer. For each version here the wheel was installed into a
fresh environment with the versions of the lock, and `headwater demo --once` run with it: the
platform, the pipeline, and every fact of their lineage compared with what it must be. Jars were in
the cache; the times are those of a busy machine. Written by `make pythons`.

| Python | Installed in | `headwater doctor` | `headwater demo --once` | Took |
|---|---|---|---|---|"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
