"""Ways to spell a request that someone without a key might try, and a socket to send them over."""

import itertools
import socket
from collections.abc import Iterator
from typing import NamedTuple

SLASHES = (
    b"//", b"///", b"/./", b"/x/../", b"/%2e/", b"/x/%2e%2e/", b"/x/%2E./", b"\\", b"/\\", b"\\/",
    b"%2f", b"%2F", b"%252f", b"%5c", b"/;/", b"/..;/", b"/%20/", b"/%09/", b"/%00/", b"/%0d%0a/",
    b"/%c0%af/", b"%c0%af", b"\xc0\xaf", b"/%u002f", b"/%e2%88%95/", b"\xef\xbc\x8f", b"/%2f/",
)  # fmt: skip
BEFORE = (
    b"/", b"//", b"/.", b"/./", b"/..", b"/../..", b"/%2e", b"/%2e%2e", b"/.%2e", b"/\\", b"\\",
    b"/%5c", b"/%2f", b"/%252f", b"/;", b"/;x=y", b"/%00", b"/%20", b"/%0a", b"/x/..", b"/x/%2e%2e",
    b"/health/..", b"/health", b"/ready/..", b"/ready;/..", b"/api/docs/../..", b"/api/docs/..%2f",
    b"/api/docs", b"/api/docs-assets/../..", b"/api/docs-assets", b"/api/v1/session/../../..",
    b"/api/v1/session", b"/assets/..", b"/index.html/..", b"/index.html", b"/favicon.svg/..",
    b"http://127.0.0.1", b"http://localhost/", b"HTTP://LOCALHOST", b"https://a@localhost//",
    b"//localhost", b"///localhost/..", b"/%c0%ae%c0%ae", b"/\xff", b"/\xc0\xae", b"/%ff", b"*",
    b"", b"x", b"/?", b"/#", b"/.;", b"/..;",
)  # fmt: skip
AFTER = (
    b"", b"/", b"//", b"/.", b"/..", b"/./", b"/%2e", b"/%2e%2e", b"/%2f", b"%2f", b"%2F", b"%00",
    b"%20", b"%09", b"%0a", b"%0d%0a", b";", b";x=y", b"/;", b"/;x", b"?", b"?x=y", b"??", b"?/../",
    b"#", b"#x", b"%23", b"%3f", b".json", b".html", b"/index.html", b"\\", b"%5c", b"~", b"*",
    b"%ff", b"\xff", b"/x/..", b"&x=y", b"=", b"%", b"%2", b"\x00", b"\x0b", b" ", b"\t",
)  # fmt: skip
METHODS = (
    "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "Get", "post", "PUT", "PATCH", "DELETE", "POST",
    "PROPFIND", "PURGE", "SEARCH", "QUERY", "LINK", "MKCOL", "REPORT",
)  # fmt: skip
HEADERS = (
    b"X-Original-URL: {}", b"X-Rewrite-URL: {}", b"X-Forwarded-Path: {}", b"X-Forwarded-Prefix: {}",
    b"X-HTTP-Method-Override: GET", b"X-Method-Override: GET", b"X-Forwarded-For: 127.0.0.1",
    b"X-Forwarded-Host: localhost", b"X-Real-IP: 127.0.0.1", b"Forwarded: for=127.0.0.1",
    b"Authorization: Bearer", b"Authorization: Bearer  ", b"Authorization: Bearer None",
    b"Authorization: Basic Og==", b"Authorization: bearer hw_", b"Authorization: Bearer hw_\xff",
    b"Authorization:", b"Cookie: key=admin", b"Origin: http://localhost",
    b"Connection: keep-alive, Authorization", b"X-API-Key: admin", b"Sec-Fetch-Site: same-origin",
)  # fmt: skip


class Spelled(NamedTuple):
    """A request as it goes over the wire, but for its fixed headers."""

    method: str
    target: bytes
    header: bytes = b""


def spellings(method: str, path: str, least: int = 500) -> list[Spelled]:
    """Other ways to spell a request: at least so many, none of them the plain one."""
    plain = path.encode()
    found = dict.fromkeys(itertools.chain(_targets(plain), _case(plain)))
    for pair in itertools.product(BEFORE, AFTER):
        if len(found) >= least:
            break
        found[pair[0] + plain + pair[1]] = None
    found.pop(plain, None)
    spelled = [Spelled(method, target) for target in found]
    spelled += [Spelled(other, plain) for other in METHODS]
    spelled += [Spelled(method, plain, header.replace(b"{}", plain)) for header in HEADERS]
    spelled += [Spelled(method, b"/health", header.replace(b"{}", plain)) for header in HEADERS[:4]]
    return spelled


def _targets(plain: bytes) -> Iterator[bytes]:
    for before in BEFORE:
        yield before + plain
    for after in AFTER[1:]:
        yield plain + after
    parts = plain.split(b"/")
    for at, slash in itertools.product(range(1, len(parts)), SLASHES):
        yield b"/".join(parts[:at]) + slash + b"/".join(parts[at:])


def _case(plain: bytes) -> Iterator[bytes]:
    parts = plain.split(b"/")
    for at in range(1, len(parts)):
        for other in _alike(parts[at]):
            yield b"/".join([*parts[:at], other, *parts[at + 1 :]])


def _alike(part: bytes) -> list[bytes]:
    """A part of a path that some would take for the same."""
    first, rest = part[:1], part[1:]
    escaped = b"".join(b"%%%02x" % letter for letter in part)
    return [
        part.upper(), part.title(), part.swapcase(), b"%%%02x" % first[0] + rest, escaped,
        escaped.upper(), escaped.replace(b"%", b"%25"), b"%20" + part, part + b"%20", part + b".",
        b"." + part, part + b"%2e", part + b"::$DATA", "".join(map(_wide, part.decode())).encode(),
    ]  # fmt: skip


def _wide(letter: str) -> str:
    return chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter


class Answered(NamedTuple):
    """What came back; status 0 where the server closed without a word."""

    status: int
    body: bytes


def _written(spelled: Spelled, headers: tuple[bytes, ...]) -> bytes:
    lines = [b"Host: localhost", *headers, *([spelled.header] if spelled.header else [])]
    body = b"" if spelled.method in ("GET", "HEAD", "get", "Get") else b"{}"
    if body:
        lines += [b"Content-Type: application/json", b"Content-Length: 2"]
    head = spelled.method.encode() + b" " + spelled.target + b" HTTP/1.1\r\n"
    return head + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


class Wire:
    """A connection that sends requests as they are, and is opened again when it is closed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._left = b""

    def ask(self, spelled: Spelled, *headers: bytes) -> Answered:
        """Send one request and read its answer."""
        self._open().sendall(_written(spelled, headers))
        return self._read(spelled.method)

    def _open(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=60)
            self._left = b""
        return self._socket

    def _read(self, method: str) -> Answered:
        head = self._until(b"\r\n\r\n")
        if head is None:
            return Answered(0, b"")
        status = int(head.split(b" ", 2)[1])
        told = head.lower()
        length = told.partition(b"content-length:")[2].partition(b"\r\n")[0]
        body = b""
        if b"transfer-encoding: chunked" in told:
            self.close()  # a stream: that it began is enough
        elif length and method != "HEAD":
            body = self._exactly(int(length))
        if b"connection: close" in told:
            self.close()
        return Answered(status, body)

    def _more(self) -> bool:
        try:
            got = self._open().recv(65536)
        except ConnectionError:
            got = b""
        self._left += got
        if not got:
            self.close()
        return bool(got)

    def _until(self, mark: bytes) -> bytes | None:
        while mark not in self._left:
            if not self._more():
                return None
        head, _, self._left = self._left.partition(mark)
        return head

    def _exactly(self, count: int) -> bytes:
        while len(self._left) < count and self._more():
            pass
        body, self._left = self._left[:count], self._left[count:]
        return body

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
