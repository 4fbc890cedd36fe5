"""Servers that a page of the docs tells its reader to start."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from docs.shell import environment
from ports import free_port

_PATIENCE_S = 240.0  # seconds for a start on a busy machine
_PORT = re.compile(r"--port (\d+)")


class Servers:
    """Starts `headwater server …` as it stands in a page, on a free port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[subprocess.Popen[bytes]] = []
        self.addresses: dict[str, str] = {}  # the address in the docs → the one it got

    def start(self, command: str, environ: Mapping[str, str]) -> None:
        """Start a server and wait until it is ready."""
        port = free_port()
        if named := _PORT.search(command):
            command = command.replace(named[0], f"--port {port}")
            self.addresses[f"127.0.0.1:{named[1]}"] = f"127.0.0.1:{port}"
        log = self._folder / f"server-{port}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", command],
                cwd=self._folder,
                env=environment({**environ, "HEADWATER_PORT": str(port)}),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._running.append(process)
        until = time.monotonic() + _PATIENCE_S
        while not _is_ready(port):
            assert process.poll() is None, f"{command}\n{log.read_text()}"
            assert time.monotonic() < until, f"{command}\n{log.read_text()}"
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop all of them as Ctrl-C does."""
        for process in self._running:
            os.killpg(process.pid, signal.SIGINT)
        for process in self._running:
            process.wait(_PATIENCE_S)


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/ready", timeout=5).is_success
    except httpx.TransportError:
        return False
