"""Connections that are idle, slow, half-sent or too many are closed, and others are answered."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import psutil
import pytest

from server.events import as_bytes, run_event
from server.process import ServerProcess
from server.stores import Stores

_MOST = 20
_TIMEOUT = 1  # seconds that the server waits for a client
_PATIENCE = 120.0


@pytest.fixture(scope="module")
def server(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that is short of patience and of connections."""
    log: Path = tmp_path_factory.mktemp("connections") / "server.log"
    with ServerProcess(
        stores.new("sqlite"), log,
        max_connections=str(_MOST), request_timeout=str(_TIMEOUT),
    ) as found:  # fmt: skip
        yield found


def connected(server: ServerProcess, sent: bytes = b"") -> socket.socket:
    """A connection on which something was sent."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE)
    connection.sendall(sent)
    return connection


def rest(connection: socket.socket) -> bytes:
    """All that the server says until it closes the connection."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def is_healthy(server: ServerProcess) -> bool:
    """Whether a new connection is answered."""
    with connected(
        server, b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    ) as new:
        return rest(new).startswith(b"HTTP/1.1 200 ")


HEAD = b"POST /api/v1/lineage HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
HALF_SENT = {
    "nothing": b"",
    "a part of the first line": b"GET /hea",
    "a part of the head": HEAD,
    "a part of a header": HEAD + b"x-long: " + b"y" * 1000,
    "a head and no body": HEAD + b"content-length: 100\r\n\r\n",
    "a part of the body": HEAD + b'content-length: 100\r\n\r\n{"eventTime',
    "a part of a chunked body": HEAD + b'transfer-encoding: chunked\r\n\r\n5\r\n{"eve\r\n',
    "a part of a chunk": HEAD + b'transfer-encoding: chunked\r\n\r\nffff\r\n{"eve',
    "a part of a second request": b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\nGET /hea",
}


CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"
ENDLESS = {
    "trailers": (CHUNKED + b"0\r\n", b"a:\r\n" * 16_384),
    "the name of a trailer": (CHUNKED + b"0\r\n", b"a" * 65_536),
    "the value of a trailer": (CHUNKED + b"0\r\na:", b"a" * 65_536),
    "an extension of a chunk": (CHUNKED + b"5;", b"a" * 65_536),
}


REQUEST = b"GET /api/v1/namespaces HTTP/1.1\r\nhost: localhost\r\n\r\n"
UNREAD = {"requests whose answers are not waited for": (b"", REQUEST * 1000)}


@pytest.mark.parametrize(("begun", "more"), (ENDLESS | UNREAD).values(), ids=ENDLESS | UNREAD)
def test_what_goes_on_for_ever_is_refused(server: ServerProcess, begun: bytes, more: bytes) -> None:
    assert server.process is not None
    process = psutil.Process(server.process.pid)
    before, sent = process.memory_info().rss, 0
    with connected(server, begun) as connection, suppress(OSError):
        while sent < 32 * 2**20:
            connection.sendall(more)
            sent += len(more)
    assert sent < 32 * 2**20
    assert process.memory_info().rss - before < 16 * 2**20
    assert is_healthy(server)


def test_trailers_are_taken_and_are_no_headers(server: ServerProcess) -> None:
    event = as_bytes(run_event())
    body = b"%x\r\n%s\r\n0\r\ncontent-type: text/plain\r\nhost: evil\r\n\r\n" % (len(event), event)
    head = HEAD + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    with connected(server, head + body) as connection:
        assert rest(connection).startswith(b"HTTP/1.1 201 ")
    assert is_healthy(server)


def test_half_sent_requests_are_closed(server: ServerProcess) -> None:
    with ExitStack() as stack:
        begun = {
            name: stack.enter_context(connected(server, sent)) for name, sent in HALF_SENT.items()
        }
        told = {name: rest(connection) for name, connection in begun.items()}
    assert told.pop("nothing") == b""
    for name, answer in told.items():
        assert answer.rpartition(b"HTTP/1.1 ")[2].startswith(b"408 "), name
    assert is_healthy(server)


def test_a_head_that_trickles_is_closed(server: ServerProcess) -> None:
    with connected(server, HEAD) as connection:
        connection.settimeout(_TIMEOUT / 8)
        told = b""
        while not told:  # a byte at a time, for as long as it is let
            try:
                connection.sendall(b"x")
                told = connection.recv(65_536)
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                break
    assert not told or told.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /health?" + b"a=1&" * 25_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
        HEAD + b"x-long: " + b"a" * 100_000 + b"\r\n\r\n",
        HEAD + b"x-many: 1\r\n" * 10_000 + b"\r\n",
        HEAD + b"x-endless: " + b"a" * 1_000_000,
    ],
    ids=["address", "query", "header", "headers", "endless"],
)
def test_a_large_head_is_refused(server: ServerProcess, sent: bytes) -> None:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE)
    with connection:
        try:
            connection.sendall(sent)
        except (BrokenPipeError, ConnectionResetError):
            told = b""  # it was refused before all of it was sent
        else:
            told = rest(connection)
    assert not told or told.startswith(b"HTTP/1.1 431 ")
    assert is_healthy(server)


@pytest.mark.parametrize("sent", [b"", HEAD, HEAD + b"content-length: 9\r\n\r\n{"])
def test_connections_without_a_request_make_room(server: ServerProcess, sent: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(_MOST * 5):
            stack.enter_context(connected(server, sent))
        assert is_healthy(server)
        server.api.send(run_event())


def test_when_all_connections_are_answered_new_ones_get_503(server: ServerProcess) -> None:
    stream = b"GET /api/v1/stream HTTP/1.1\r\nhost: localhost\r\n\r\n"
    server.api.client.close()
    with ExitStack() as stack:
        for _ in range(_MOST):
            begun = stack.enter_context(connected(server, stream)).recv(12)
            assert begun == b"HTTP/1.1 200"
        with connected(
            server, b"GET /api/v1/namespaces HTTP/1.1\r\nhost: localhost\r\n\r\n"
        ) as new:
            told = rest(new)
        assert told.startswith(b"HTTP/1.1 503 ")
        assert b"too many connections" in told
        assert is_healthy(server)


def test_streams_of_one_client_leave_connections_to_others(stores: Stores, tmp_path: Path) -> None:
    few = 5
    stream = b"GET /api/v1/stream HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with (
        ServerProcess(
            stores.new("sqlite"), tmp_path / "server.log",
            max_connections=str(_MOST), max_streams=str(few),
        ) as server,
        ExitStack() as stack,
    ):  # fmt: skip
        opened = [stack.enter_context(connected(server, stream)) for _ in range(5 * _MOST)]
        told = [connection.recv(12) for connection in opened]
        assert told.count(b"HTTP/1.1 200") == few
        assert b"HTTP/1.1 429" in told
        assert is_healthy(server)
        server.api.send(run_event())
        for connection in opened:
            connection.close()
        begun = b""
        while begun != b"HTTP/1.1 200":  # once the server has seen that the others are gone
            with connected(server, stream) as again:
                begun = again.recv(12)


def test_a_client_that_does_not_read_is_let_go(server: ServerProcess) -> None:
    large = run_event(documentation={"description": "x" * 1_000_000})
    with httpx.Client(base_url=server.url, timeout=_PATIENCE) as client:
        for number in range(16):
            event = large | {"producer": f"https://example.org/{number}"}
            client.post(
                "/api/v1/lineage",
                content=as_bytes(event),
                headers={"content-type": "application/json"},
            ).raise_for_status()
    path = b"/api/v1/events/lineage?limit=16"
    with connected(server, b"GET " + path + b" HTTP/1.1\r\nhost: localhost\r\n\r\n") as connection:
        assert connection.recv(12) == b"HTTP/1.1 200"
        before = closed(metrics(server))
        while closed(metrics(server)) == before:
            assert is_healthy(server)
        assert len(rest(connection)) < 16_000_000


def metrics(server: ServerProcess) -> bytes:
    """The server's figures."""
    with connected(
        server, b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    ) as new:
        return rest(new)


def closed(page: bytes) -> float:
    """How many connections the server has closed."""
    return float(page.partition(b"\nheadwater_connections_closed_total ")[2].split()[0])
