"""A script, run by path and without Headwater: it ties the life of services to their supervisor.

    python guard.py watch            kill this process group when stdin closes
    python guard.py run PARENT CMD…  become CMD, which dies with PARENT where the system can do so

The first works everywhere; the second, on Linux, also when the first was killed.
"""

import ctypes
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_GRACE_S = 2.0


def _watch() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # The supervisor holds the other end and never writes: the read ends when it does.
    sys.stdin.buffer.read()
    os.killpg(os.getpgrp(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _run(parent: int, command: list[str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have died before the line above.
    if os.getppid() == parent:
        os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    if sys.argv[1] == "watch":
        _watch()
    else:
        _run(int(sys.argv[2]), sys.argv[3:])
