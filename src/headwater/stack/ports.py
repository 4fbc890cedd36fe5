"""Ports of the services: the well-known one when free, the last one used, or any free one."""

import random
import socket
from collections.abc import Iterable, Mapping

import msgspec

from headwater.errors import PortInUse

HOST = "127.0.0.1"

# Below the range from which systems pick ports for outgoing connections, so that a port found
# free is not taken by a client before the service binds.
_RANGE = range(20_000, 30_000)


class PortWish(msgspec.Struct, frozen=True):
    """What is known about one port before it is chosen."""

    service: str
    default: int
    asked: int | None = None
    last: int | None = None


def choose(wishes: Mapping[str, PortWish]) -> dict[str, int]:
    """Choose a port for each wish, all different.

    A port that was asked for is used or refused; 0 asks for any. The last one comes before the
    default, because addresses are part of dataset names and should outlive a restart.

    Raises:
        PortInUse: something listens at a port that was asked for.

    """
    taken: set[int] = set()
    chosen: dict[str, int] = {}
    for key, wish in wishes.items():
        if wish.asked:
            if wish.asked in taken or not is_free(wish.asked):
                raise PortInUse(wish.service, wish.asked)
            port = wish.asked
        else:
            usual = () if wish.asked == 0 else (wish.default,)
            port = _first_free((*(p for p in (wish.last,) if p), *usual), taken)
        taken.add(port)
        chosen[key] = port
    return chosen


def is_free(port: int) -> bool:
    """Whether a service could listen at this port now."""
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex((HOST, port)) == 0:
            return False
    with socket.socket() as probe:
        # As the services do: connections of an earlier run may linger at the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _first_free(candidates: Iterable[int], taken: set[int]) -> int:
    for port in candidates:
        if port and port not in taken and is_free(port):
            return port
    while True:
        # Not a secret: two platforms that start together must merely look elsewhere.
        port = random.choice(_RANGE)  # noqa: S311
        if port not in taken and is_free(port):
            return port
