"""Processes of the platform: started so that none outlives the supervisor, named so that no
stranger with a recycled pid is taken for one of them.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import psutil

_GUARD = Path(__file__).with_name("guard.py")
_PYTHON = (sys.executable, "-I", "-S", str(_GUARD))
# Clocks are adjusted while processes run; a pid is not used again within so short a time.
_SAME_START_S = 2.0


class Pid(msgspec.Struct, frozen=True):
    """A process, told from a later one with the same number by its start time."""

    number: int
    started: float

    @classmethod
    def of(cls, number: int) -> "Pid":
        """Name a process that runs now."""
        return cls(number, psutil.Process(number).create_time())

    def process(self) -> psutil.Process | None:
        """The live process, if it is still this one."""
        try:
            process = psutil.Process(self.number)
            if abs(process.create_time() - self.started) > _SAME_START_S:
                return None
            return None if process.status() == psutil.STATUS_ZOMBIE else process
        except psutil.Error:
            return None

    def end(self, grace_s: float) -> None:
        """Ask the process to end, and make it end when it does not."""
        process = self.process()
        if process is None:
            return
        with contextlib.suppress(psutil.Error):
            process.terminate()
            try:
                process.wait(grace_s)
            except psutil.TimeoutExpired:
                process.kill()
                process.wait(5)


def tied(command: Sequence[str]) -> list[str]:
    """The same command, as one that dies with this process where the system can do so."""
    return [*_PYTHON, "run", str(os.getpid()), *command]


class ProcessGroup:
    """The children of one supervisor: a process group that ends when the supervisor does."""

    def __init__(self) -> None:
        self._guard = subprocess.Popen(
            [*_PYTHON, "watch"], stdin=subprocess.PIPE, process_group=0, cwd="/"
        )

    def spawn(
        self, command: Sequence[str], *, log: Path, cwd: Path, env: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start a child whose output goes to the end of a log file.

        Linux ties a child to the thread that started it: call this from one that outlives it.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            return subprocess.Popen(
                tied(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=dict(env),
                process_group=self._guard.pid,
            )

    def close(self) -> None:
        """Kill whatever is left of the group, the guard included."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._guard.pid, signal.SIGKILL)
        self._guard.wait()
        if self._guard.stdin is not None:
            self._guard.stdin.close()


def end(child: subprocess.Popen[bytes], grace_s: float) -> None:
    """Ask a child to end, and make it end when it does not."""
    child.terminate()
    try:
        child.wait(grace_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def listens(pid: int, port: int) -> bool:
    """Whether a process, or a child of it, is the one that listens at a port."""
    try:
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            for connection in process.net_connections("tcp"):
                if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
                    return True
    except psutil.Error:
        pass
    return False


def uptime_s(pid: Pid) -> float:
    """How long a process has been running."""
    return max(0.0, time.time() - pid.started)
