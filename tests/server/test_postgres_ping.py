"""PostgreSQL is pinged as libpq does it, and nothing else in the process waits meanwhile."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Ping
from psycopg_pool import ConnectionPool

from headwater.server.store.postgres_attempts import Attempts
from headwater.server.store.postgres_ping import ping
from headwater.server.store.postgres_watch import WatchedPool
from ports import free_port
from server.stores import Stores

_STARTING = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
_TOO_MANY = b"SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0"


def _error(fields: bytes) -> bytes:
    return b"E" + (len(fields) + 4).to_bytes(4, "big") + fields


@contextmanager
def _server(*answers: bytes) -> Iterator[int]:
    """Gives its answers, one for each message, and closes; with none it is silent."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_serve, args=(listening, answers), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(60)
        assert not thread.is_alive()


def _serve(listening: socket.socket, answers: tuple[bytes, ...]) -> None:
    with ExitStack() as clients, suppress(OSError):
        while True:
            client = clients.enter_context(listening.accept()[0])
            client.settimeout(10)
            if answers:
                _answer(client, answers)


def _answer(client: socket.socket, answers: tuple[bytes, ...]) -> None:
    with client, suppress(OSError):
        for answer in answers:
            client.recv(1000)
            client.sendall(answer)


def _conninfo(port: int, **more: str) -> str:
    return make_conninfo(
        host="127.0.0.1", port=port, user="u", dbname="d", connect_timeout=2, **more
    )


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ((), Ping.NO_RESPONSE),
        ((b"",), Ping.NO_RESPONSE),
        ((b"N", b""), Ping.NO_RESPONSE),
        ((b"N", _error(_STARTING)), Ping.REJECT),
        ((b"N", _error(_TOO_MANY)), Ping.OK),
        ((b"N", b"R\0\0\0\x08\0\0\0\x03"), Ping.OK),
    ],
)
def test_a_server_is_judged_as_libpq_does(answers: tuple[bytes, ...], expected: Ping) -> None:
    with _server(*answers) as port:
        conninfo = _conninfo(port, gssencmode="disable")
        assert ping(conninfo_to_dict(conninfo), 2) == expected
        assert _libpq(conninfo) == expected


def _libpq(conninfo: str) -> int:
    """What libpq says, in a process of its own: in this one, the server would have to wait."""
    code = "import sys; from psycopg.pq import PGconn; print(PGconn.ping(sys.argv[1].encode()))"
    command = [sys.executable, "-c", code, conninfo]
    return int(subprocess.run(command, capture_output=True, check=True, timeout=120).stdout)


def test_servers_are_found_where_libpq_finds_them(stores: Stores) -> None:
    url = stores.new("postgresql")
    assert ping(conninfo_to_dict(url), 2) == Ping.OK
    assert ping(conninfo_to_dict(make_conninfo(url, user="unknown")), 2) == Ping.OK
    folder = str(conninfo_to_dict(url)["host"])
    assert ping({"host": f"127.0.0.1,{folder}", "port": f"{free_port()},5432"}, 2) == Ping.OK
    assert ping({"host": folder, "port": 1}, 2) == Ping.NO_RESPONSE
    assert ping({"host": "127.0.0.1", "port": free_port()}, 2) == Ping.NO_RESPONSE
    assert ping({"host": "no..such", "port": 5432}, 2) == Ping.NO_RESPONSE


def test_nothing_waits_while_a_silent_server_is_pinged(stores: Stores) -> None:
    with (
        ConnectionPool(stores.new("postgresql"), kwargs={"autocommit": True}) as pool,
        _server() as port,
    ):
        watched = WatchedPool(_conninfo(port), pool, Attempts())
        with watched.connection():
            ticks = _count_until(lambda: watched.away is not None)
        watched.close()
    assert ticks > 50  # of several hundred


def _count_until(is_over: Callable[[], bool]) -> int:
    """How often another thread gets to run until something is the case."""
    count, until = 0, time.monotonic() + 60
    while not is_over():
        assert time.monotonic() < until
        time.sleep(0.01)
        count += 1
    return count
