"""Middleware for every answer: its time, and headers that tell browsers what it may do."""

from time import perf_counter

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from headwater.server.metrics import timer

_SAFETY = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
_DATA_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_FOR_PAGES = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    b"connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'"
)
_PAGE_POLICY = (b"content-security-policy", _FOR_PAGES)
_STRICT = (b"strict-transport-security", b"max-age=31536000")


def timed(app: ASGIApp) -> ASGIApp:
    """An application whose answers are counted and timed, by method and status."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        start, status = perf_counter(), "0"

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        await app(scope, receive, noting)
        timer(known_method(scope["method"]), status).observe(perf_counter() - start)

    return wrapped


def known_method(method: str) -> str:
    """A method for a label: whatever a client makes up is one."""
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE") else "other"


def with_safe_headers(app: ASGIApp, *, is_tls: bool) -> ASGIApp:
    """An application whose answers all have a content security policy and the like."""
    shared = [*_SAFETY, *([_STRICT] if is_tls else [])]
    for_data, for_pages = [*shared, _DATA_POLICY], [*shared, _PAGE_POLICY]

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        path = scope["path"]
        headers = for_data if path.startswith("/api/v1/") else for_pages

        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *headers]}
            await send(message)

        await app(scope, receive, adding)

    return wrapped
