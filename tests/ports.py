"""Ports for what the tests start themselves."""

import random
import socket

_HOST = "127.0.0.1"
# Below the ports of outgoing connections, of which a client could take one before the server that
# it was found for listens, and below those of the platforms (headwater.stack.ports).
_RANGE = range(10_000, 20_000)
_reserved: list[socket.socket] = []


def free_port() -> int:
    """A port that nothing listens at, and that no other test gets while this process lives."""
    while True:
        port = random.choice(_RANGE)
        if _reserve(port):
            return port


def _reserve(port: int) -> bool:
    """Hold the number with a UDP socket: TCP, which all servers speak, does not see it."""
    held = socket.socket(type=socket.SOCK_DGRAM)
    try:
        held.bind((_HOST, port))
        with socket.socket() as probe:
            probe.bind((_HOST, port))
    except OSError:
        held.close()
        return False
    _reserved.append(held)
    return True
