"""The server as its own process, as people run it."""

import os
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import httpx

from ports import free_port
from server.api import Api

_PATIENCE = 240.0  # seconds for a start on a busy machine


class ServerProcess:
    """`headwater server` on a free port, which it keeps when it is started again."""

    def __init__(self, store_url: str, log: Path, *options: str, **variables: str) -> None:
        self._variables = {f"HEADWATER_{name.upper()}": text for name, text in variables.items()}
        self.store_url, self._log, self._options = store_url, log, options
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self.verify: ssl.SSLContext | bool = False  # to read all certificates takes its time
        self.api = Api(httpx.Client(base_url=self.url, timeout=300), store_url)

    def start(self) -> "ServerProcess":
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "headwater.cli.main", "server", "--port", str(self.port)]
        command += ["--store", self.store_url, "--log-level", "warning", *self._options]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env=os.environ | self._variables
            )
        try:
            self._wait(self.process)
        except BaseException:
            self.process.kill()
            self.process.wait(_PATIENCE)
            raise
        return self

    def _wait(self, process: "subprocess.Popen[bytes]") -> None:
        until = time.monotonic() + _PATIENCE
        while not self._is_up():
            assert process.poll() is None, f"it ended:\n{self.log()}"
            assert time.monotonic() < until, f"it does not answer:\n{self.log()}"
            time.sleep(0.05)

    def _is_up(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=5, verify=self.verify).status_code == 200
        except httpx.TransportError:
            return False

    def end(self, sign: signal.Signals = signal.SIGTERM) -> int:
        """Send it a signal and wait for its end."""
        assert self.process is not None
        self.process.send_signal(sign)
        return self.process.wait(timeout=_PATIENCE)

    def log(self) -> str:
        """What it wrote on its way."""
        return self._log.read_text(errors="replace")

    def __enter__(self) -> "ServerProcess":
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.api.client.close()
        if self.process is not None and self.process.poll() is None:
            self.end()
