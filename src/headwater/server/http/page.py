"""Serves the page: files that `make setup` builds into the package, and nothing else.

Every address that is neither a file nor the API's is a view of the page, so that a link to
any of them works; whoever wants no HTML there is told that there is nothing.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

FOLDER = Path(__file__).parent.parent / "page"
_OTHERS = ("/api", "/health", "/ready", "/metrics")
_KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
}
_ENCODINGS = ((b"br", ".br"), (b"gzip", ".gz"))
_MISSING = (
    b"<!doctype html><html lang=en><meta charset=utf-8><title>Headwater</title>"
    b"<h1>The page was not built</h1><p>The server runs; its <a href=/api/docs>API</a> answers. "
    b"To have the page, run <code>make setup</code> where Headwater's source is, then start the "
    b"server again. It needs Node 20.19 or newer; where there is none, <code>make setup</code> "
    b"brings one.</p></html>"
)


class _File(NamedTuple):
    body: bytes
    packed: dict[bytes, bytes]
    kind: bytes
    is_lasting: bool
    tag: bytes


def page(app: ASGIApp, folder: Path = FOLDER) -> ASGIApp:
    """An application that serves the page and leaves the API to another."""
    files = {f"/{path.relative_to(folder)}": _read(path, folder) for path in _listed(folder)}

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or not _is_page(scope):
            await app(scope, receive, send)
            return
        path = scope["path"]
        found = files.get(path)
        if found is None and not _is_view(scope):
            await app(scope, receive, send)  # which says that there is no such thing
            return
        found = found or files.get("/index.html")
        await (_send(scope, send, found) if found else _tell_missing(send))

    return wrapped


def _is_page(scope: HTTPScope) -> bool:
    if scope["method"] not in ("GET", "HEAD"):
        return False
    path = scope["path"]
    return not any(path == one or path.startswith(f"{one}/") for one in _OTHERS)


def _is_view(scope: HTTPScope) -> bool:
    if scope["path"] == "/":
        return True
    accepted = dict(scope["headers"]).get(b"accept", b"")
    return b"text/html" in accepted and not scope["path"].startswith("/assets/")


def _listed(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix in _KINDS and path.is_file()]


def _read(path: Path, folder: Path) -> _File:
    body = path.read_bytes()
    packed = {
        name: packed.read_bytes()
        for name, suffix in _ENCODINGS
        if (packed := path.with_name(path.name + suffix)).is_file()
    }
    is_lasting = path.parent == folder / "assets"  # its name holds a digest of its content
    tag = b'"%s"' % hashlib.sha256(body).hexdigest()[:20].encode()
    return _File(body, packed, _KINDS[path.suffix], is_lasting, tag)


async def _send(scope: HTTPScope, send: Send, file: _File) -> None:
    asked = dict(scope["headers"])
    cache = b"public, max-age=31536000, immutable" if file.is_lasting else b"no-cache"
    headers = [(b"cache-control", cache), (b"etag", file.tag)]
    if asked.get(b"if-none-match") == file.tag:
        await _answer(send, 304, headers, b"")
        return
    body = file.body
    accepted = asked.get(b"accept-encoding", b"")
    for name, packed in file.packed.items():
        if name in accepted:
            headers.append((b"content-encoding", name))
            body = packed
            break
    headers += [(b"vary", b"accept-encoding"), (b"content-type", file.kind)]
    headers.append((b"content-length", b"%d" % len(body)))
    await _answer(send, 200, headers, b"" if scope["method"] == "HEAD" else body)


async def _tell_missing(send: Send) -> None:
    headers = [(b"content-type", _KINDS[".html"]), (b"content-length", b"%d" % len(_MISSING))]
    await _answer(send, 503, headers, _MISSING)


async def _answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
