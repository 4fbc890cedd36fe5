"""Clusters of Kafka Connect that answer with anything: too much, nothing of use, or slowly."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.api import Api
from server.conftest import OpenApi
from server.process import ServerProcess

BIG = json.dumps({"trace": ["password is x " * 20] * 25_000}).encode()  # 7 MB, full of hints
ODD = {
    "a list": b"[1,2]", "a number": b"7", "null": b"null", "a text": b'"x"', "nothing": b"",
    "no JSON": b"<html>", "no UTF-8": b"\xff\xfe", "deep": b"[" * 60_000,
    "a deep object": b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "a surrogate": b'{"a":"\\ud800"}',
    "a huge number": b'{"a":' + b"9" * 5000 + b"}", "not a number": b'{"a":NaN,"b":1e999}',
    "odd values": b'{"version":7,"commit":[],"password":{"a":["******"]}}', "large": BIG * 6,
    "an odd name": b'{"":{"":""}}', "many values": b"[" + b"{}," * 1_000_000 + b"1]",
}  # fmt: skip


class Cluster(ThreadingHTTPServer):
    """A cluster that gives the same answer to everything, and knows what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answer, self.sent_at = b"{}", 0.0
        self.received: list[tuple[str, str, bytes]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def named(self) -> tuple[str, str]:
        """The cluster as the server is told of it."""
        return "lab", f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may stop reading."""


class _Answering(BaseHTTPRequestHandler):
    server: Cluster

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.received.append((self.command, self.path, body))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)
        self.server.sent_at = time.monotonic()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as found:
        yield found
        found.shutdown()


@pytest.fixture
def api(cluster: Cluster, tmp_path: Path, open_api: OpenApi) -> Iterator[Api]:
    """A server that was told of the cluster."""
    with open_api(f"sqlite:///{tmp_path}/x.db", connect=(cluster.named,)) as found:
        yield found


def _ask(api: Api, method: str, path: str, body: bytes | None = None) -> httpx.Response:
    headers = {"content-type": "application/json"}
    path = f"/api/v1/pipelines{path}"
    return api.client.request(method, path, content=body, headers=headers)


ASKED: tuple[tuple[str, str, bytes | None], ...] = (
    ("GET", "", None), ("GET", "/lab/connectors", None),
    ("GET", "/lab/connectors/x%0d%0a?%ff", None),
    ("PUT", "/lab/connectors/x/config", b'{"password":"******"}'),
    ("PATCH", "/lab/connectors/x/config", b'{"password":"******"}'),
    ("POST", "/lab/connectors", b'{"name":"x","config":{}}'), ("DELETE", "/lab/connectors/x", None),
)  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_whatever_a_cluster_answers_there_is_an_answer(
    api: Api, cluster: Cluster, kind: str
) -> None:
    cluster.answer = ODD[kind]
    for method, path, body in ASKED:
        found = _ask(api, method, path, body)
        assert found.status_code in (200, 502), (method, path, found.status_code)
        assert found.status_code == 200 or "lab" in found.json()["message"], found.text


@pytest.mark.parametrize("kind", ODD)
def test_whatever_configuration_is_sent_there_is_an_answer(
    api: Api, cluster: Cluster, kind: str
) -> None:
    cluster.answer = b'{"password":"open sesame"}'
    for method in ("PUT", "PATCH"):
        found = _ask(api, method, "/lab/connectors/x/config", ODD[kind])
        assert found.status_code in (200, 400, 413), (method, found.status_code)


@pytest.mark.parametrize("answer", [b"[1,2]", b"<html>", b"7", BIG * 6])
def test_masks_are_not_stored_as_secrets(api: Api, cluster: Cluster, answer: bytes) -> None:
    cluster.answer = answer
    found = _ask(api, "PUT", "/lab/connectors/x/config", b'{"password":"******"}')
    assert found.status_code == 502
    assert [method for method, _, _ in cluster.received] == ["GET"]


def test_secrets_that_were_shown_as_masks_are_sent_back(api: Api, cluster: Cluster) -> None:
    cluster.answer = b'{"password":"open sesame","a":"1"}'
    found = _ask(api, "PUT", "/lab/connectors/x/config", b'{"password":"******","a":"2"}')
    assert (found.status_code, "sesame" in found.text) == (200, False)
    assert json.loads(cluster.received[-1][2]) == {"password": "open sesame", "a": "2"}


def test_an_answer_that_is_too_large_is_not_passed_on(api: Api, cluster: Cluster) -> None:
    cluster.answer = b"[" + b'"",' * 10_000_000 + b"1]"
    found = _ask(api, "GET", "/lab/connectors")
    assert (found.status_code, "too large" in found.json()["message"]) == (502, True)
    cluster.answer = json.dumps(["x" * 100] * 70_000).encode()
    assert _ask(api, "GET", "/lab/connectors").json() == ["x" * 100] * 70_000


def test_large_answers_do_not_hold_up_others(cluster: Cluster, tmp_path: Path) -> None:
    cluster.answer = BIG
    told = f"{cluster.named[0]}={cluster.named[1]}"
    with ServerProcess(f"sqlite:///{tmp_path}/x.db", tmp_path / "log", "--connect", told) as server:
        ends: list[float] = []

        def ask() -> None:
            assert _ask(server.api, "GET", "/lab/connectors/big").status_code == 200
            ends.append(time.monotonic())

        asking = threading.Thread(target=ask)
        asking.start()
        answered = []
        with httpx.Client(base_url=server.url, timeout=300) as client:
            while asking.is_alive():
                assert client.get("/health").status_code == 200
                answered.append(time.monotonic())
        asking.join()
    masking = [at for at in answered if cluster.sent_at < at < ends[0]]
    assert len(masking) > 20, (cluster.sent_at, ends, answered[-5:])
