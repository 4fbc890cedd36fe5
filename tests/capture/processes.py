"""Runs a small application in a process of its own, against a receiver."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from capture.receiver import Receiver
from capture.waiting import until

APPS = Path(__file__).parent / "apps"


class Application:
    """A driver under test."""

    def __init__(
        self, home: Path, receiver: Receiver, command: Sequence[str], more: dict[str, str]
    ) -> None:
        self.home, self.receiver = home, receiver
        environ = {
            **os.environ,
            "APP_HOME": str(home),
            "OPENLINEAGE_URL": receiver.url,
            "OPENLINEAGE_NAMESPACE": "test",
            "PYTHONPATH": str(APPS.parent.parent),
            **more,
        }
        self.log = (home / "log").open("wb")
        self.process = subprocess.Popen(
            command, env=environ, stdout=self.log, stderr=self.log, cwd=home
        )

    def wait_until_ready(self) -> None:
        self.wait_for_file("ready")

    def wait_for_file(self, name: str) -> None:
        until(
            lambda: (self.home / name).exists() or self.process.poll() is not None, 120, self.text
        )
        assert (self.home / name).exists(), self.text()

    def wait_for_lineage(self, job: str) -> None:
        self.receiver.wait_for(
            lambda r: any(e["job"]["name"] == job and e["outputs"] for e in r.events), 120
        )

    def go(self) -> None:
        (self.home / "go").touch()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def exit_code(self) -> int:
        return self.process.wait(timeout=120)

    def text(self) -> str:
        return (self.home / "log").read_text(errors="replace")[-4000:]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()


@contextmanager
def running(home: Path, receiver: Receiver, *command: str, **more: str) -> Iterator[Application]:
    """An application, ended at the end of the block if it has not ended by then."""
    app = Application(home, receiver, command, more)
    try:
        yield app
    finally:
        app.close()


def python(app: str, how: str) -> tuple[str, ...]:
    return (sys.executable, str(APPS / app), how)
