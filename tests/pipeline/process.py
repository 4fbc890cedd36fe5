"""A worker in a process of its own, as people run it."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

from stack.platform import Platform, eventually

# A JVM that compiles quickly: a test ends before compiling well would pay.
_SUBMIT = (
    "--driver-memory 1g --driver-java-options -XX:TieredStopAtLevel=1 "
    "--conf spark.executor.memory=700m pyspark-shell"
)


class WorkerProcess:
    """Starts, kills and asks a worker that keeps its state in one place."""

    def __init__(
        self, platform: Platform, folder: Path, master: str = "local[2]", state: str = ""
    ) -> None:
        self._platform, self.folder, self._master = platform, folder, master
        self._state = state or str(folder)
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ["--master", self._master, "--port", str(self._port), "--state", self._state]
        environ = {**self._platform.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        with (self.folder.parent / "worker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "headwater.cli.main", "worker", *options],
                env={**environ, "PYSPARK_SUBMIT_ARGS": _SUBMIT},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        eventually(self._answers, 180)

    def kill(self) -> None:
        """End it as a power cut does: its JVM with it."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(timeout=120)

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """A `headwater connector` command."""
        return self._platform.run("connector", *arguments, "--worker", self.url)

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return httpx.request(method, f"{self.url}{path}", json=body, timeout=120)

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def deploy(self, *connectors: tuple[str, dict[str, str]]) -> None:
        paths = []
        for name, config in connectors:
            path = self.folder.parent / f"{name}.json"
            path.write_text(json.dumps({"name": name, "config": config}))
            paths.append(str(path))
        done = self.command("deploy", *paths)
        assert done.returncode == 0, done.stderr

    def _answers(self) -> bool:
        assert self._process is not None
        log = (self.folder.parent / "worker.log").read_text(errors="replace")
        assert self._process.poll() is None, log[-3000:]
        try:
            return self.ask("GET", "/").status_code == 200
        except httpx.HTTPError:
            return False


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
