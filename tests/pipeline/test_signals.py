"""`headwater job run` under signals: two lines, the right exit code, and nothing left running."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pipeline.proxy import Door
from server.process import ServerProcess
from stack.platform import Platform, eventually


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("server")
    with ServerProcess(f"sqlite:///{folder}/lineage.db", folder / "log") as server:
        yield server


@pytest.fixture
def metastore(platform: Platform) -> Iterator[Door]:
    """A metastore that takes connections and never answers."""
    door = Door(platform.variables()["HIVE_METASTORE_URI"])
    door.open(answers=False)
    yield door
    door.close()


class JobProcess:
    """A job in the foreground of a terminal: signals reach its JVM as well."""

    def __init__(self, platform: Platform, folder: Path, name: str, **environ: str) -> None:
        self._log = folder / f"{name}.log"
        command = [sys.executable, "-m", "headwater.cli.main", "job", "run", name]
        command += ["--checkpoints", str(folder / "checkpoints")]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                env={**platform.environ, **platform.variables(), **environ},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def end(self, number: signal.Signals) -> int:
        """Send a signal to the whole group; the exit code, when all its processes have ended."""
        own = psutil.Process(self._process.pid)
        everyone = [own, *own.children(recursive=True)]
        os.killpg(self._process.pid, number)
        code = self._process.wait(timeout=120)
        _, alive = psutil.wait_procs(everyone, timeout=120)
        assert not alive
        return code

    def log(self) -> str:
        return self._log.read_text()

    def own_lines(self) -> list[str]:
        """What is not one of Spark's own log lines."""
        return [line for line in self.log().splitlines() if " WARN " not in line and line.strip()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_batch_job_is_interrupted(
    platform: Platform,
    server: ServerProcess,
    metastore: Door,
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    hung = f"thrift://127.0.0.1:{metastore.port}"
    name = f"stats_{number.name.lower()}"
    job = JobProcess(
        platform, tmp_path, "supplier_stats",
        HMS_ENDPOINT=hung, HIVE_METASTORE_URI=hung, OPENLINEAGE_URL=server.url, JOB_NAME=name,
        HEADWATER_HOME=str(tmp_path),
    )  # fmt: skip
    eventually(lambda: metastore.taken > 0)
    assert job.end(number) == 128 + number
    assert job.own_lines()[-2:] == [
        f"error: {number.name} ended supplier_stats before it was finished",
        "  Run the job again",
    ]
    assert "Traceback" not in job.log()
    assert "Please report" not in job.log()


def test_a_streaming_job_ends(platform: Platform, server: ServerProcess, tmp_path: Path) -> None:
    job = JobProcess(platform, tmp_path, "lineage-archive", OPENLINEAGE_URL=server.url)
    offsets = tmp_path / "checkpoints" / "lineage-archive" / "metadata"
    eventually(offsets.exists)
    assert job.end(signal.SIGTERM) == 0
    assert job.own_lines()[-1] == "lineage-archive ended"
    assert "Traceback" not in job.log()
    assert "Please report" not in job.log()
