"""The supervisor: the one process that owns a platform, from the first start to the last stop."""

import fcntl
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import msgspec

from headwater.errors import AlreadyUp
from headwater.stack import state
from headwater.stack.process import Pid, ProcessGroup
from headwater.stack.runner import Runner
from headwater.stack.service import PlatformLayout, Service
from headwater.stack.state import ServiceState, State
from headwater.stack.state_writer import Listener, PlatformStateWriter

_POLL_S = 0.2
_STOP_S = 30.0


class Supervisor:
    """Runs the services of a platform; one at a time in a state folder.

    Raises:
        AlreadyUp: another supervisor holds the state folder.

    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._hold = _hold(home)
        self._stop = threading.Event()
        self._group: ProcessGroup | None = None
        self._runners: list[Runner] = []
        self._writer: PlatformStateWriter | None = None

    def start(
        self, services: Sequence[Service], layout: PlatformLayout, listener: Listener
    ) -> None:
        """Start all services side by side."""
        first = State(
            home=layout.home,
            java_home=layout.java_home,
            supervisor=Pid.of(os.getpid()),
            services={service.name: _first_state(service, layout) for service in services},
        )
        state.remember_ports(layout.home, layout.ports)
        self._writer = PlatformStateWriter(first, listener)
        self._group = ProcessGroup()
        runners: dict[str, Runner] = {}
        # Those that use a service come after it, and must be there to be waited for.
        for service in reversed(services):
            users = [runners[one.name] for one in services if service.name in one.needs]
            runners[service.name] = Runner(
                service, layout, self._group, self._writer, self._stop, users
            )
        self._runners = list(runners.values())
        for runner in self._runners:
            runner.start()

    @property
    def state(self) -> State | None:
        """What the services do now."""
        return self._writer.state if self._writer else None

    def wait(self, seconds: float = _POLL_S) -> bool:
        """Wait a moment; tell whether to go on.

        Raises:
            HeadwaterError: a service cannot come up.

        """
        if self._writer is not None and self._writer.failure is not None:
            raise self._writer.failure
        return not self._stop.wait(seconds)

    def stop(self) -> None:
        """Ask every service to stop; returns at once, and may be called by a signal handler."""
        self._stop.set()

    def close(self) -> None:
        """Wait until everything has ended, and leave no file that says otherwise."""
        self._stop.set()
        for runner in self._runners:
            if runner.ident is not None:
                runner.join(_STOP_S)
        if self._group is not None:
            self._group.close()
        state.forget(self._home)
        _pid_file(self._home).unlink(missing_ok=True)
        self._hold.close()


def owner(home: Path) -> Pid | None:
    """The supervisor that holds a state folder, even if its state file cannot be read."""
    try:
        pid = msgspec.json.decode(_pid_file(home).read_bytes(), type=Pid)
    except (OSError, msgspec.MsgspecError):
        return None
    return pid if pid.process() else None


def down(home: Path) -> bool:
    """End whatever runs in a state folder; tell whether anything did.

    A process is ended only if it is the one that was started: pid and start time both agree.
    """
    left = state.read(home)
    supervisor = owner(home) or (left.supervisor if left else None)
    was_up = supervisor is not None and supervisor.process() is not None
    if supervisor is not None:
        supervisor.end(_STOP_S)
    for service in left.services.values() if left else ():
        if service.pid is not None:
            service.pid.end(grace_s=5)
    state.forget(home)
    _pid_file(home).unlink(missing_ok=True)
    return was_up


def _first_state(service: Service, layout: PlatformLayout) -> ServiceState:
    return ServiceState(
        name=service.name,
        title=service.title,
        address=service.address(layout),
        port=layout.ports[service.name],
        log=str(layout.log(service.name)),
    )


def _pid_file(home: Path) -> Path:
    return home / "supervisor.pid"


def _hold(home: Path) -> TextIO:
    """Lock the state folder for the life of this process, however it ends."""
    home.mkdir(parents=True, exist_ok=True)
    file = _pid_file(home).open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = owner(home)
        file.close()
        raise AlreadyUp(str(home), holder.number if holder else 0) from None
    file.truncate(0)
    file.write(msgspec.json.encode(Pid.of(os.getpid())).decode())
    file.flush()
    return file
