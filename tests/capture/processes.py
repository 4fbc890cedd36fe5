"""Runs a small application in a process of its own, told where to send its events."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from capture.waiting import until

APPS = Path(__file__).parent / "apps"


class Application:
    """A driver under test."""

    def __init__(self, home: Path, url: str, command: Sequence[str], more: dict[str, str]) -> None:
        self.home = home
        environ = {
            **os.environ,
            "APP_HOME": str(home),
            "OPENLINEAGE_URL": url,
            "OPENLINEAGE_NAMESPACE": "test",
            # Heartbeats come and go with the machine's load: only tests of them have any.
            "HEADWATER_HEARTBEAT_SECONDS": "3600",
            "HEADWATER_LEASE_SECONDS": "7200",
            "PYTHONPATH": _path(),
            **more,
        }
        self.log = (home / "log").open("wb")
        self.process = subprocess.Popen(
            command, env=environ, stdout=self.log, stderr=self.log, cwd=home
        )

    def wait_until_ready(self) -> None:
        self.wait_for_file("ready")

    def wait_for_file(self, name: str) -> None:
        until(lambda: (self.home / name).exists() or self.over(), 240, self.text)
        assert (self.home / name).exists(), self.text()

    def go(self) -> None:
        (self.home / "go").touch()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def over(self) -> bool:
        return self.process.poll() is not None

    def exit_code(self) -> int:
        return self.process.wait(timeout=240)

    def text(self) -> str:
        return (self.home / "log").read_text(errors="replace")[-4000:]

    def close(self) -> None:
        (self.home / "release").touch()  # what an application holds up
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()


def _path() -> str:
    """The tests, and whatever else these tests are run with."""
    others = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(APPS.parent.parent), *([others] if others else [])])


@contextmanager
def running(home: Path, url: str, *command: str, **more: str) -> Iterator[Application]:
    """An application, ended at the end of the block if it has not ended by then."""
    app = Application(home, url, command, more)
    try:
        yield app
    finally:
        app.close()


def python(app: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, str(APPS / app), *arguments)
