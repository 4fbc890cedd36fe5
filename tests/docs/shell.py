"""A shell in which the commands of a page are typed one after another."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_END = "::end of command::"
_OWN = ("HEADWATER_", "OPENLINEAGE_", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
_KEPT = ("HEADWATER_CACHE", "HEADWATER_IVY_SETTINGS")


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    output: str


class Shell:
    """One bash, so that exports and `cd` last as they do for a reader."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder, env=environment(environ), text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, command: str) -> Done:
        """Type a command and wait until it has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(
            f"{{ {command}\n}} </dev/null; code=$?; echo; echo {_END} $code\n"
        )
        self._process.stdin.flush()
        lines: list[str] = []
        for line in self._process.stdout:
            if line.startswith(_END):
                return Done(int(line.split()[-1]), "".join(lines).strip("\n"))
            lines.append(line)
        raise AssertionError(f"the shell ended: {command}\n{''.join(lines)}")

    def close(self) -> None:
        """End the shell."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(180)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def open_shell(folder: Path, environ: Mapping[str, str]) -> Iterator[Shell]:
    """A shell until the end of the block."""
    shell = Shell(folder, environ)
    try:
        yield shell
    finally:
        shell.close()


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """This environment without settings of ours, with the command on PATH, and `more`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OWN) or name in _KEPT
    }
    path = [str(Path(sys.executable).parent), more.get("PATH", os.environ["PATH"])]
    return {**kept, "COLUMNS": "100", **more, "PATH": os.pathsep.join(path)}
