"""Run the tests of capture that depend on Spark's plans on each Spark that capture supports.

    .venv/bin/python tools/matrix.py [3.5.7 4.0.2]

Each version of pyspark gets an environment of its own under the user's cache, with the
project's own other requirements, and its table row in docs/matrix.md. The project's own
environment is the last row.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from platformdirs import user_cache_path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "matrix.md"
UV = Path(sys.executable).with_name("uv")
VERSIONS = ("3.5.7", "4.0.2")
SUITES = {
    "test_golden.py": "Golden pairs",
    "test_attach.py": "Streams and batches",
    "test_datasets.py": "Datasets",
}
# What the tests import beside what `stack` brings; Spark 3.5 knows no pandas 3.
TOOLS = (
    "pytest",
    "pytest-timeout",
    "duckdb",
    "pandas<3",
    "pyarrow",
    "setuptools<81",
    "hatchling",
    "editables",
)


class Row(NamedTuple):
    """What came of one Spark: per suite, how many tests passed, and which did not."""

    version: str
    python: str
    passed: dict[str, tuple[int, int]]
    failed: list[str]
    skipped: list[str]


def main() -> int:
    versions = sys.argv[1:] or list(VERSIONS)
    rows = [run(version, environment(version)) for version in versions]
    if not sys.argv[1:]:
        rows.append(run(_own_version(), Path(sys.executable)))
        PAGE.write_text(page(rows))
    for row in rows:
        print(line(row), *row.failed, sep="\n  ")
    return any(row.failed for row in rows)


def environment(version: str) -> Path:
    """The Python of an environment with this pyspark, made if it is not there."""
    home = user_cache_path("headwater") / "matrix" / version
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, home], check=True)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as overrides:
        overrides.write(f"pyspark=={version}\n")
        overrides.flush()
        wanted = ("-r", "pyproject.toml", "--extra", "stack", *TOOLS)
        install = (UV, "pip", "install", "--quiet", "--python", python)
        subprocess.run([*install, "--overrides", overrides.name, *wanted], check=True, cwd=ROOT)
        itself = ("--no-deps", "--no-build-isolation", "--editable", ".")
        subprocess.run([*install, *itself], check=True, cwd=ROOT)
    return python


def run(version: str, python: Path) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        paths = [f"tests/capture/{suite}" for suite in SUITES]
        # An older Spark warns of things that only its next version can mend.
        options = ("-q", "-W", "default", "-p", "no:cacheprovider", f"--junitxml={report}")
        subprocess.run(
            [python, "-m", "pytest", *options, *paths],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "tests"),
                "PYSPARK_PYTHON": str(python),
            },
            stdout=sys.stderr,
            check=False,
        )
        return _read(version, _python_version(python), report)


def _read(version: str, python: str, report: Path) -> Row:
    row = Row(version, python, {}, [], [])
    for case in ElementTree.parse(report).iter("testcase"):
        suite = case.attrib["classname"].rpartition(".")[2] + ".py"
        name = case.attrib["name"].removeprefix("test_query_gives_its_column_edges")
        if case.find("skipped") is not None:
            row.skipped.append(name.strip("[]"))
            continue
        bad = case.find("failure") is not None or case.find("error") is not None
        passed, of = row.passed.get(suite, (0, 0))
        row.passed[suite] = (passed + (not bad), of + 1)
        if bad:
            row.failed.append(name.strip("[]"))
    return row


def _python_version(python: Path) -> str:
    code = "import platform; print(platform.python_version())"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _own_version() -> str:
    import pyspark  # noqa: PLC0415 - only the project's own environment is asked

    return pyspark.__version__


def line(row: Row) -> str:
    cells = [f"{n} of {of}" for n, of in (row.passed.get(s, (0, 0)) for s in SUITES)]
    return f"| {' | '.join((row.version, row.python, *cells, str(len(row.skipped))))} |"


def page(rows: list[Row]) -> str:
    titles = ("pyspark", "Python", *SUITES.values(), "Skipped")
    table = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", *map(line, rows)]
    told = [_told(row) for row in rows if row.failed or row.skipped]
    return "\n".join([HEAD, *table, *told, ""])


def _told(row: Row) -> str:
    lines = [f"\nOn {row.version}:\n"]
    lines += [f"- differs: {name}" for name in row.failed]
    lines += [f"- skipped, not supported by that Spark release: {name}" for name in row.skipped]
    return "\n".join(lines)


HEAD = """# Spark 3.5, 4.0 and 4.1

Results of capture's tests for plans, streams, batches and datasets, on real Spark releases with
their Kafka, Avro and Iceberg jars. Written by `make matrix`.
"""


if __name__ == "__main__":
    sys.exit(main())
