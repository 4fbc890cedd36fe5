"""A platform for tests: the real command, in a folder of its own, on free ports."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from headwater.cli.stack_view import status_json
from headwater.errors import NotUp
from headwater.stack import Settings, environment, running, spark_conf


class Platform:
    """Runs `headwater` commands against one state folder."""

    def __init__(self, home: Path, **environ: str) -> None:
        self.home = home
        self.environ = {**os.environ, "HEADWATER_HOME": str(home), **environ}

    def run(
        self, *arguments: str, limit_s: float = 300, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            _command(*arguments),
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
            cwd=cwd,
        )

    def up(self, *arguments: str) -> None:
        done = self.run("up", "--detach", "--free-ports", *arguments)
        assert done.returncode == 0, done.stderr

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start `headwater up` in the foreground."""
        return subprocess.Popen(
            _command("up", "--free-ports", *arguments),
            env=self.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def status(self) -> dict[str, Any]:
        """What `status --json` prints, without the cost of a new Python each time."""
        try:
            return dict(json.loads(status_json(running(self.home))))
        except NotUp:
            return {}

    def service(self, name: str) -> dict[str, Any]:
        services = self.status().get("services", [])
        return next((one for one in services if one["name"] == name), {})

    def variables(self) -> dict[str, str]:
        return environment(running(self.home))

    def spark(self) -> dict[str, str]:
        return spark_conf(Settings.read(self.environ))

    def processes(self) -> list[psutil.Process]:
        """Every live process that was started for this state folder, whoever its parent is."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("HEADWATER_HOME") == str(self.home):
                    found.append(process)
            except psutil.Error:
                continue
        return found


def eventually(holds: Callable[[], bool], limit_s: float = 180) -> None:
    """Wait until something holds; how long it takes is not what is tested."""
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.3)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "headwater.cli.main", *arguments]
