"""Every example runs as it is shown, and its lineage is at a real server then."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.stack import Settings, java_home
from server.process import ServerProcess

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("server")
    with ServerProcess(f"sqlite:///{folder}/lineage.db", folder / "server.log") as server:
        yield server


def run(name: str, server: ServerProcess, folder: Path) -> None:
    environ = {
        **os.environ,
        "OPENLINEAGE_URL": server.url,
        "HEADWATER_SPOOL_DIR": str(folder / "spool"),
        "JAVA_HOME": str(java_home(Settings.read(os.environ))),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def job(server: ServerProcess, namespace: str, name: str) -> Any:
    import httpx

    answer = httpx.get(f"{server.url}/api/v1/namespaces/{namespace}/jobs/{name}", timeout=120)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("name", "namespace", "job_name", "inputs", "outputs"),
    [
        (
            *("batch.py", "default"),
            "batch_example.execute_insert_into_hadoop_fs_relation_command.{folder}_totals",
            *(["orders.csv"], ["totals"]),
        ),
        ("streaming.py", "default", "clean-orders", ["orders"], ["clean"]),
        ("foreach_batch.py", "default", "split-orders", ["orders"], ["cheap", "dear"]),
        (
            *("without_spark.py", "examples", "monthly-report"),
            *(["public.orders"], ["public.monthly_report"]),
        ),
    ],
)
def test_example_leaves_its_lineage(
    name: str,
    namespace: str,
    job_name: str,
    inputs: list[str],
    outputs: list[str],
    server: ServerProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))  # where the example makes its folder
    run(name, server, tmp_path)
    made = next((path.name for path in place.iterdir() if path.name.startswith("tmp")), "")
    found = job(server, namespace, job_name.format(folder=made))
    assert [one["name"].rpartition("/")[2] for one in found["inputs"]] == inputs
    assert sorted(one["name"].rpartition("/")[2] for one in found["outputs"]) == outputs
    assert found["latestRun"]["state"] == "COMPLETED"


def test_there_is_a_test_for_each_example() -> None:
    tested = {"batch.py", "streaming.py", "foreach_batch.py", "without_spark.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == tested
