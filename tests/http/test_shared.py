"""What the server's and the worker's APIs share, on its own: paths, hosts, origins, key files."""

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import UsageError
from headwater.http.checks import RequestChecks, host_name, is_loopback
from headwater.http.keys import KeyFile, bearer
from headwater.http.paths import normal_path

NORMAL = {
    b"/": "/",
    b"/health": "/health",
    b"/health/": "/health",
    b"/api/v1/namespaces/kafka%3A%2F%2Fb%3A9092/datasets/a.b": (
        "/api/v1/namespaces/kafka%3A%2F%2Fb%3A9092/datasets/a.b"
    ),
    b"/a/...": "/a/...",
    b"/a/.b": "/a/.b",
    b"/a;b=c": "/a;b=c",
    b"/%61pi": "/%61pi",
}
ODD = (
    b"", b"*", b"api", b"//", b"//api", b"/api//v1", b"/api/v1//", b"/.", b"/..", b"/./api",
    b"/api/../api", b"/api/%2e/v1", b"/api/%2E%2e/v1", b"/api/.%2e", b"/api/%2e.", b"/\\api",
    b"/api\\v1", b"/api/%00", b"/a%00b", b"/a b", b"/a\tb", b"/a\n", b"/a\x00", b"/\xc3\xa9",
    b"/a%", b"/a%2", b"/a%zz", b"/a|b", b"/<a>", b'/"a"', b"/{a}", b"/a^b", b"http://h/x", b"/a#b",
    b"/a?b",
)  # fmt: skip


def test_a_path_has_one_form() -> None:
    assert {raw: normal_path(raw) for raw in NORMAL} == NORMAL
    assert {raw: normal_path(raw) for raw in ODD} == dict.fromkeys(ODD)


def test_names_of_this_machine() -> None:
    own = ("localhost", "LOCALHOST:5000", "localhost.", "127.0.0.1:1", "127.9.9.9", "[::1]:5000")
    others = ("", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1",
              "localhost:evil", "evil@localhost", "localhost,evil", "0.0.0.0",
              "[::2]:1")  # fmt: skip
    assert [host for host in own if not is_loopback(host_name(host))] == []
    assert [host for host in others if is_loopback(host_name(host))] == []


def _ask(method: str, *headers: tuple[bytes, bytes], path: bytes = b"/x", **checks: Any) -> int:
    """The code that the checks answer with; 200 where the request passes them."""
    sent: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "raw_path": path, "path": path.decode("latin-1"),
             "query_string": b"", "headers": [*headers]}  # fmt: skip
    app: Any = RequestChecks(inner, **{"checks_host": lambda: True, **checks})
    asyncio.run(app(scope, None, send))
    code: int = sent[0]["status"]
    return code


HOST = (b"host", b"localhost:5000")


def _typed(kind: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"content-type", kind), (b"content-length", b"2")]


JSON = _typed(b"application/json")


@pytest.mark.parametrize(
    ("method", "headers", "code"),
    [
        ("GET", [HOST], 200),
        ("GET", [], 403),
        ("GET", [(b"host", b"evil.example")], 403),
        ("GET", [HOST, (b"host", b"evil.example")], 403),
        ("GET", [(b"host", b"lineage.lan")], 200),
        ("GET", [HOST, (b"sec-fetch-site", b"cross-site")], 200),
        ("TRACE", [HOST], 405),
        ("get", [HOST], 405),
        ("POST", [HOST], 200),
        ("POST", [HOST, *JSON], 200),
        ("POST", [HOST, *JSON, (b"origin", b"http://localhost:5000")], 200),
        ("POST", [HOST, *JSON, (b"origin", b"http://localhost:3000")], 403),
        ("POST", [HOST, *JSON, (b"origin", b"null")], 403),
        ("POST", [HOST, *JSON, (b"origin", b"https://friend.example")], 200),
        ("POST", [HOST, *JSON, (b"sec-fetch-site", b"same-origin")], 200),
        ("POST", [HOST, *JSON, (b"sec-fetch-site", b"none")], 200),
        ("POST", [HOST, *JSON, (b"sec-fetch-site", b"same-site")], 403),
        ("DELETE", [HOST, (b"sec-fetch-site", b"cross-site")], 403),
        *(
            ("POST", [HOST, *JSON, *several], 403)
            for name, own, foreign in (
                (b"origin", b"http://localhost:5000", b"https://evil.example"),
                (b"origin", b"https://friend.example", b"https://evil.example"),
                (b"sec-fetch-site", b"same-origin", b"cross-site"),
            )
            for several in (
                [(name, own), (name, foreign)], [(name, foreign), (name, own)],
                [(name, own), (name, own), (name, foreign), (name, own)],
            )
        ),
        ("POST", [HOST, *_typed(b"text/plain"), *_typed(b"application/json")], 415),
        ("POST", [HOST, (b"content-length", b"2"), *_typed(b"application/json")], 200),
        ("PUT", [HOST, (b"content-length", b"2")], 415),
        ("PUT", [HOST, (b"transfer-encoding", b"chunked")], 415),
        ("POST", [HOST, (b"content-length", b"2"), (b"content-type", b"text/plain")], 415),
        ("POST", [HOST, (b"content-length", b"2"), (b"content-type", b"Text/Plain; x")], 415),
        ("PATCH", [HOST, *_typed(b"multipart/form-data; boundary=x")], 415),
    ],
)  # fmt: skip
def test_requests_of_other_sites(
    method: str, headers: list[tuple[bytes, bytes]], code: int
) -> None:
    allowed: dict[str, Any] = {
        "hosts": frozenset({"lineage.lan"}),
        "origins": frozenset({"https://friend.example"}),
    }
    assert _ask(method, *headers, **allowed) == code


def test_an_odd_path_is_refused_before_anything_else() -> None:
    assert _ask("GET", HOST, path=b"//x") == 400
    assert _ask("GET", (b"host", b"any.example"), checks_host=lambda: False) == 200


def test_a_key_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    keys = KeyFile(path)
    assert keys.find("hw_x") is None
    key = keys.create("ops", ["admin", "admin"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key not in path.read_text()
    found = KeyFile(path).find(key)
    assert found is not None
    assert (found.name, found.scopes, found.may("write")) == ("ops", frozenset({"admin"}), True)
    reader = keys.create("reader", ["read"])
    allowed = keys.find(reader)
    assert allowed is not None
    assert not allowed.may("write")
    with pytest.raises(UsageError):
        keys.create("ops", ["read"])
    with pytest.raises(UsageError):
        keys.create("x", ["root"])
    KeyFile(path).revoke("ops")
    assert (keys.find(key), keys.find(reader) is not None, keys.find(None)) == (None, True, None)
    with pytest.raises(UsageError):
        keys.revoke("ops")
    path.write_text("nonsense\n")
    with pytest.raises(UsageError):
        keys.find(reader)


def test_the_key_of_a_request() -> None:
    def sent(*values: bytes) -> str | None:
        headers = [(b"authorization", value) for value in values]
        scope: Any = {"headers": headers}
        return bearer(scope)

    assert sent(b"Bearer hw_a") == "hw_a"
    assert sent(b"bearer  hw_a ") == "hw_a"
    assert [sent(), sent(b""), sent(b"Bearer"), sent(b"Bearer "), sent(b"Basic hw_a")] == [None] * 5
    assert sent(b"Bearer hw_a", b"Bearer hw_b") is None
