"""Runs other producers of OpenLineage events against a server, and writes down what each gives.

    .venv/bin/python tools/producers.py [dbt airflow3 airflow2 spark]

Each producer is installed into a temporary environment. The table is docs/producers.md.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from capture.jars import find_java  # noqa: E402
from server.process import ServerProcess  # noqa: E402

PAGE, FILES = ROOT / "docs" / "producers.md", ROOT / "tools" / "producers"
ABOUT = """# Other producers

What the server shows of the events of other OpenLineage producers. Each is run for real by
`make producers`, which writes this page: a small pipeline with one step that fails.

*Columns* are the edges into the columns of what a job writes. *Checks* are those of what it reads.
"""
# Nothing is built but what has no wheels (a part of Airflow 2).
_WHEELS = ("--only-binary", ":all:", "--no-binary", "python-nvd3")
HEADS = ("Job", "State", "Why", "Reads", "Writes", "Columns", "Checks", "Tags")


class Producer(NamedTuple):
    """A producer: its name, what it installs, and how it is run."""

    name: str
    packages: tuple[str, ...]
    shown: str  # the package whose version is told
    run: Callable[[Path, Path, dict[str, str]], None]


def run_dbt(home: Path, bin_: Path, environ: dict[str, str]) -> None:
    """Load a seed, build two models and run their tests, one of which fails."""
    shutil.copytree(FILES / "dbt", home / "project")
    for command in ("seed", "run", "test"):
        call([bin_ / "dbt-ol", command], home / "project", environ | {"DBT_PROFILES_DIR": "."})


def run_airflow(home: Path, bin_: Path, environ: dict[str, str]) -> None:
    """Run a DAG of three tasks, the last of which fails."""
    (home / "dags").mkdir()
    shutil.copy(FILES / "airflow" / "shop.py", home / "dags")
    transport = {"type": "http", "url": environ["OPENLINEAGE_URL"]}
    environ |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
        "AIRFLOW__OPENLINEAGE__NAMESPACE": environ["OPENLINEAGE_NAMESPACE"],
    }  # fmt: skip
    call([bin_ / "airflow", "db", "migrate"], home, environ)
    call([bin_ / "airflow", "dags", "test", "shop"], home, environ)


def run_spark(home: Path, _: Path, environ: dict[str, str]) -> None:
    """Run a Spark application with OpenLineage's listener."""
    find_java()
    options = ("--url", environ["OPENLINEAGE_URL"], "--namespace", environ["OPENLINEAGE_NAMESPACE"])
    command = [sys.executable, "-m", "headwater.cli.main", "run", *options]
    app = str(FILES / "spark_app.py")
    call([*command, "--listener", "official", app], home, environ | dict(os.environ))


PRODUCERS = {
    "dbt": Producer("dbt-ol", ("dbt-duckdb", "openlineage-dbt"), "openlineage-dbt", run_dbt),
    "airflow3": Producer(
        "Airflow 3", ("apache-airflow>=3,<4", "apache-airflow-providers-openlineage"),
        "apache-airflow", run_airflow,
    ),
    "airflow2": Producer(
        "Airflow 2.10", ("apache-airflow>=2.10,<2.11", "apache-airflow-providers-openlineage<2"),
        "apache-airflow", run_airflow,
    ),
    "spark": Producer("OpenLineage's Spark listener", (), "", run_spark),
}  # fmt: skip


def main(names: list[str]) -> int:
    """Run each producer in turn, and write the page."""
    parts, failed = [ABOUT], False
    with tempfile.TemporaryDirectory(prefix="producers-") as folder:
        home = Path(folder)
        with ServerProcess(f"sqlite:///{home}/lineage.db", home / "server.log") as server:
            for name in names or PRODUCERS:
                print(f"{name} …", file=sys.stderr)
                try:
                    parts.append(attempt(PRODUCERS[name], name, home, server))
                except subprocess.CalledProcessError as error:
                    failed = True
                    print(f"{name} could not be installed:\n{error.stderr}", file=sys.stderr)
    text = "\n".join(parts)
    if not names and not failed:
        PAGE.write_text(text)
    print(text)
    return int(failed)


def attempt(producer: Producer, name: str, home: Path, server: ServerProcess) -> str:
    """Install a producer, run it, and describe what the server shows of it."""
    place = home / name
    place.mkdir()
    python, version = install(producer, place)
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    own["PATH"] = os.pathsep.join([str(python.parent), own.get("PATH", os.defpath)])
    told = {"OPENLINEAGE_URL": server.url, "OPENLINEAGE_NAMESPACE": name}
    producer.run(place, python.parent, own | told)
    rows = described(server, name)
    if not rows:
        logs = "".join(path.read_text() for path in place.glob("**/log.txt"))
        raise SystemExit(f"{producer.name} has sent nothing:\n{logs[-3000:]}")
    lines = [f"## {producer.name}{f' ({producer.shown} {version})' if version else ''}", ""]
    lines += [line(HEADS), line("---" for _ in HEADS), *map(line, rows), ""]
    return "\n".join(lines)


def install(producer: Producer, place: Path) -> tuple[Path, str]:
    """Make an environment with a producer; give its Python and the producer's version."""
    python = place / "venv" / "bin" / "python"
    if not producer.packages:
        return python, ""
    uv = Path(sys.executable).parent / "uv"
    options = ("--quiet", "--python", str(python))
    for command in (
        (uv, "venv", "--quiet", "--python", sys.executable, place / "venv"),
        (uv, "pip", "install", *options, *_WHEELS, *producer.packages),
    ):
        subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
    code = f"import importlib.metadata as m; print(m.version({producer.shown!r}))"
    told = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return python, told.stdout.strip()


def call(command: Iterable[Any], folder: Path, environ: dict[str, str]) -> None:
    """Run a step of a producer; that some steps fail is part of it."""
    with (folder / "log.txt").open("ab") as log:
        subprocess.run(
            [*map(str, command)], cwd=folder, env=environ, stdout=log, stderr=log, check=False,
            timeout=900,
        )  # fmt: skip


def described(server: ServerProcess, namespace: str) -> list[tuple[str, ...]]:
    """A row for each job of a namespace, children after the job that starts them."""
    found = server.api.get(f"/namespaces/{namespace}/jobs", limit=500)["jobs"]
    found.sort(
        key=lambda job: (
            job["parentJobName"] or job["name"],
            bool(job["parentJobName"]),
            job["name"],
        )
    )
    return [row(server, job) for job in found]


def row(server: ServerProcess, job: Any) -> tuple[str, ...]:
    """What the server shows of a job."""
    run = job["latestRun"] or {"state": "", "facets": {}, "inputDatasetVersions": []}
    name = f"↳ {job['simpleName']}" if job["parentJobName"] else job["name"]
    columns = sum(column_edges(server, one) for one in job["outputs"])
    return (
        name, run["state"].lower(), why(server, job), names(job["inputs"]), names(job["outputs"]),
        str(columns or ""), checks(run), ", ".join(job["tags"]),
    )  # fmt: skip


def why(server: ServerProcess, job: Any) -> str:
    """Why the last run of a job failed, as the command line tells it."""
    node = f"job:{job['namespace']}:{job['name']}"
    command = [sys.executable, "-m", "headwater.cli.main", "runs", node, "--limit", "1"]
    environ = os.environ | {"COLUMNS": "500"}
    told = subprocess.run(
        [*command, "--server", server.url],
        capture_output=True, text=True, check=False, env=environ,
    ).stdout.splitlines()  # fmt: skip
    place = told[0].find("WHY") if told else -1
    return told[1][place:].strip() if place >= 0 and len(told) > 1 else ""


def names(datasets: list[Any]) -> str:
    """The last parts of the names of datasets."""
    return ", ".join(one["name"].rpartition("/")[2] for one in datasets)


def column_edges(server: ServerProcess, dataset: Any) -> int:
    """How many edges lead into the columns of a dataset."""
    node = f"dataset:{dataset['namespace']}:{dataset['name']}"
    found = server.api.columns(node, depth=1)
    own = f"datasetField:{dataset['namespace']}:{dataset['name']}:"
    return sum(len(one["inEdges"]) for id_, one in found.items() if id_.startswith(own))


def checks(run: Any) -> str:
    """The checks of what a run read."""
    told = [
        f"{'✓' if one['success'] else '✕'} {one['assertion']}"
        for read in run["inputDatasetVersions"]
        for one in read["facets"].get("dataQualityAssertions", {}).get("assertions", ())
    ]
    return ", ".join(told)


def line(cells: Iterable[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cell.replace('|', '¦') for cell in cells)} |"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
