"""Asks whether a PostgreSQL server answers, as libpq's PQping does, over a plain socket.

psycopg holds the interpreter's lock while libpq pings: with a server that stands still, nothing
else in this process would run for two seconds. A socket of Python waits without the lock.
"""

import socket
import ssl
import struct
from collections.abc import Mapping
from contextlib import closing, suppress
from time import monotonic
from typing import Any

from psycopg.pq import Ping

_CODE = 80877103  # asks for TLS instead of naming a version
_VERSION = 3 << 16  # of the protocol
_STARTING = b"C57P03\0"  # the field of an error by which a server takes no sessions yet
_END = 0.5  # seconds for a server to end the session
_MOST = 30_000  # bytes of an error; libpq takes no more before a session has begun
_UNENCRYPTED = ("disable", "allow")  # modes in which a session is first tried without TLS
Params = Mapping[str, Any]


def ping(params: Params, patience: float) -> Ping:
    """Whether one of the servers of a connection string answers, each within some seconds."""
    found = [_ping(host, port, params, patience) for host, port in _places(params)]
    return next((one for one in (Ping.OK, Ping.REJECT) if one in found), Ping.NO_RESPONSE)


def _places(params: Params) -> list[tuple[str, int]]:
    """Addresses and ports; several are separated by commas."""
    names = str(params.get("hostaddr") or params.get("host") or "localhost").split(",")
    ports = str(params.get("port") or 5432).split(",")
    ports = ports if len(ports) == len(names) else ports[:1] * len(names)
    return [
        (name or "localhost", int(port or 5432)) for name, port in zip(names, ports, strict=True)
    ]


def _ping(host: str, port: int, params: Params, patience: float) -> Ping:
    until = monotonic() + patience
    try:
        with closing(_Dialog(_open(host, port, patience), until)) as dialog:
            return dialog.ping(host, params)
    except (OSError, EOFError, ValueError):
        return Ping.NO_RESPONSE


def _open(host: str, port: int, patience: float) -> socket.socket:
    if not host.startswith(("/", "@")):
        return socket.create_connection((host, port), patience)
    path = f"{host}/.s.PGSQL.{port}"
    found = socket.socket(socket.AF_UNIX)
    try:
        found.settimeout(patience)
        found.connect(path.replace("@", "\0", 1) if path.startswith("@") else path)
    except BaseException:
        found.close()
        raise
    return found


class _Dialog:
    """What is said to a server, all of it before some moment."""

    def __init__(self, plain: socket.socket, until: float) -> None:
        self._socket, self._until = plain, until

    def close(self) -> None:
        """Give the socket back."""
        self._socket.close()

    def ping(self, host: str, params: Params) -> Ping:
        """Begin a session, and end it when the server has said something to that.

        Raises: OSError, EOFError.
        """
        mode = params.get("sslmode") or "prefer"
        if self._socket.family != socket.AF_UNIX and mode not in _UNENCRYPTED:
            self._send(struct.pack("!ii", 8, _CODE))
            answer = self._receive(1)
            if answer == b"E":
                return Ping.OK
            try:
                if answer == b"S":
                    self._encrypt(host, str(mode), params.get("sslrootcert"))
            except ssl.SSLError:
                return Ping.OK  # it answers, though not as this side wants it
        self._send(_startup(params))
        answer = self._receive(1)
        is_starting = answer == b"E" and _STARTING in self._error()
        self._leave()
        return Ping.REJECT if is_starting else Ping.OK

    def _encrypt(self, host: str, mode: str, roots: Any) -> None:
        context = ssl.create_default_context()
        context.check_hostname = mode == "verify-full"
        if not mode.startswith("verify-"):
            context.verify_mode = ssl.CERT_NONE
        elif roots and roots != "system":
            context.load_verify_locations(roots)
        self._wait()
        self._socket = context.wrap_socket(self._socket, server_hostname=host)

    def _send(self, message: bytes) -> None:
        self._wait()
        self._socket.sendall(message)

    def _receive(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            self._wait()
            part = self._socket.recv(size - len(found))
            if not part:
                raise EOFError
            found += part
        return found

    def _error(self) -> bytes:
        (size,) = struct.unpack("!i", self._receive(4))
        return self._receive(size - 4) if 4 < size < _MOST else b""

    def _wait(self) -> None:
        """Let the next step take what is left of the time."""
        left = self._until - monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)

    def _leave(self) -> None:
        """Read to the end, so that the server does not log a connection that was reset."""
        self._until = min(self._until, monotonic() + _END)
        with suppress(OSError, ValueError, EOFError):
            if isinstance(self._socket, ssl.SSLSocket):
                self._socket = self._socket.unwrap()
            self._socket.shutdown(socket.SHUT_WR)
            self._receive(_MOST)


def _startup(params: Params) -> bytes:
    """The message that begins a session."""
    user = str(params.get("user") or "postgres")
    told = {"user": user, "database": str(params.get("dbname") or user)}
    text = b"".join(f"{name}\0{value}\0".encode() for name, value in told.items())
    return struct.pack("!ii", len(text) + 9, _VERSION) + text + b"\0"
