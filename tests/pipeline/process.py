"""A worker in a process of its own, as people run it."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import psutil

import jvm
from ports import free_port
from stack.platform import Platform, eventually

_SUBMIT = "--driver-memory 1g"
_CONF = {"spark.executor.memory": "700m", "spark.executor.extraJavaOptions": jvm.options()}


class WorkerProcess:
    """Starts, kills and asks a worker that keeps its state in one place."""

    def __init__(
        self,
        platform: Platform,
        folder: Path,
        master: str = "local[2]",
        state: str = "",
        environ: Mapping[str, str] | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        self.platform, self.folder, self._master = platform, folder, master
        self._more, self._conf = environ or {}, {**_CONF, **(conf or {})}
        self._state = state or str(folder)
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder.parent / "worker.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                env=self._environ(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        eventually(self._answers, 180)

    def run_to_its_end(self) -> "subprocess.CompletedProcess[str]":
        """Start one that is expected to refuse."""
        return subprocess.run(
            self._command(),
            env=self._environ(),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    def processes(self) -> list[psutil.Process]:
        """The worker's process and those that it has started."""
        assert self._process is not None
        root = psutil.Process(self._process.pid)
        return [root, *root.children(recursive=True)]

    def ended(self) -> int:
        """Wait for the worker's own end; its exit status."""
        assert self._process is not None
        return self._process.wait(timeout=60)

    def _environ(self) -> dict[str, str]:
        # On a cluster executors must reach the driver; on one machine it is on loopback anyway.
        own = {} if self._master.startswith("local") else {"SPARK_LOCAL_IP": "127.0.0.1"}
        conf = " ".join(shlex.quote(f"--conf={key}={value}") for key, value in self._conf.items())
        submit = {"PYSPARK_SUBMIT_ARGS": f"{_SUBMIT} {conf} pyspark-shell"}
        return {**self.platform.environ, **own, **self._more, **submit}

    def _command(self) -> list[str]:
        options = ["--master", self._master, "--port", str(self._port), "--state", self._state]
        return [sys.executable, "-m", "headwater.cli.main", "worker", *options]

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
        return self.platform.run("connector", *arguments, "--worker", self.url)

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
