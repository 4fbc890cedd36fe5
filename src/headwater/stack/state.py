"""The state file: what runs in a state folder, as one reader sees it at any moment."""

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from headwater.errors import NotUp
from headwater.stack.files import write_atomically
from headwater.stack.process import Pid

Status = Literal[
    "waiting", "starting", "healthy", "unresponsive", "restarting", "stopping", "failed"
]


class ServiceState(msgspec.Struct, frozen=True):
    """One service, as its supervisor last saw it."""

    name: str
    title: str
    address: str
    port: int
    log: str
    status: Status = "waiting"
    pid: Pid | None = None
    restarts: int = 0
    reason: str = ""
    ready_after_s: float | None = None


class State(msgspec.Struct, frozen=True):
    """A platform: its supervisor and its services."""

    home: Path
    java_home: Path
    supervisor: Pid
    services: Mapping[str, ServiceState]

    @property
    def healthy(self) -> bool:
        """Whether every service answers."""
        return all(service.status == "healthy" for service in self.services.values())


def state_file(home: Path) -> Path:
    """The file that the supervisor keeps while it runs."""
    return home / "state.json"


def write(state: State) -> None:
    """Replace the state file."""
    text = msgspec.json.format(msgspec.json.encode(state, enc_hook=str)).decode()
    write_atomically(state_file(state.home), text + "\n")


def read(home: Path) -> State | None:
    """The state as last written, whoever wrote it; None when there is none to be read."""
    try:
        return msgspec.json.decode(
            state_file(home).read_bytes(), type=State, dec_hook=lambda kind, value: kind(value)
        )
    except (OSError, msgspec.MsgspecError):
        return None


def running(home: Path) -> State:
    """The platform that runs in a state folder.

    Raises:
        NotUp: none does; a state file that a dead supervisor left is not believed.

    """
    state = read(home)
    if state is None or state.supervisor.process() is None:
        raise NotUp(str(home))
    services = {name: _as_it_is(service) for name, service in state.services.items()}
    return msgspec.structs.replace(state, services=services)


def forget(home: Path) -> None:
    """Remove the state file."""
    state_file(home).unlink(missing_ok=True)


def last_ports(home: Path) -> dict[str, int]:
    """The ports that were used in this state folder before."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(_ports_file(home).read_bytes(), type=dict[str, int])
    return {}


def remember_ports(home: Path, ports: Mapping[str, int]) -> None:
    """Keep the ports, so that addresses stay the same after a restart."""
    text = msgspec.json.format(msgspec.json.encode({**last_ports(home), **ports})).decode()
    write_atomically(_ports_file(home), text + "\n")


def purge(home: Path) -> None:
    """Remove everything a platform left in its state folder, and nothing else."""
    for name in ("data", "logs"):
        shutil.rmtree(home / name, ignore_errors=True)
    for path in (state_file(home), _ports_file(home), home / "supervisor.pid"):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        home.rmdir()


def _as_it_is(service: ServiceState) -> ServiceState:
    """The service, not healthy if its process has ended since the file was written."""
    if service.status != "healthy" or (service.pid and service.pid.process()):
        return service
    return msgspec.structs.replace(service, status="restarting", pid=None)


def _ports_file(home: Path) -> Path:
    return home / "ports.json"
