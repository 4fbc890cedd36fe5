"""Middleware that refuses odd addresses, foreign host names and writes from other sites' pages.

A service without keys on loopback trusts everyone on its machine. The pages of other sites in a
browser there are not meant: they reach the service under a name of their own that they point to
127.0.0.1 (DNS rebinding), or send it requests that a browser sends without asking first.
"""

from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import msgspec
from litestar.enums import ScopeType

from headwater.http.paths import normal_path

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

_READING = ("GET", "HEAD", "OPTIONS")
_METHODS = (*_READING, "POST", "PUT", "PATCH", "DELETE")
# What a form of any page can send without the browser asking first.
_FORM_TYPES = (b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data")

_MOST_PARAMETERS = 2000  # twice as many as any list of them may have
_CHECKED = frozenset((
    b"host", b"origin", b"sec-fetch-site", b"content-length", b"transfer-encoding", b"content-type",
))  # fmt: skip
_Headers = dict[bytes, list[bytes]]

Refusal = tuple[int, str]


def is_loopback(host: str) -> bool:
    """Whether a host name or address is reached from this machine only."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.rstrip(".").lower() == "localhost"


class RequestChecks:
    """An ASGI application behind checks of path, method, Host, Origin and content type.

    `scope["path"]` and `scope["raw_path"]` are in normal form for everything behind it. `origins`
    are sites whose pages may write, `hosts` names of the service beside those of loopback, which
    are asked for while `checks_host` says so.
    """

    def __init__(
        self,
        app: "ASGIApp",
        *,
        checks_host: Callable[[], bool],
        hosts: frozenset[str] = frozenset(),
        origins: frozenset[str] = frozenset(),
    ) -> None:
        self._app, self._checks_host = app, checks_host
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower() for origin in origins)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer with the reason, or pass the request on."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        raw: bytes = (scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
        path = normal_path(raw)
        if path is None or b"%00" in scope["query_string"]:
            await refuse(send, 400, "the address is not in normal form: no empty, `.` or `..` part")
            return
        if scope["query_string"].count(b"&") > _MOST_PARAMETERS:
            await refuse(send, 400, f"the address has over {_MOST_PARAMETERS:,} parameters")
            return
        scope["path"], scope["raw_path"] = path, path.encode()
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await refuse(send, *refusal)

    def _refusal(self, scope: "HTTPScope") -> Refusal | None:
        method, headers = scope["method"], _checked_headers(scope)
        if method not in _METHODS:
            return 405, f"the method is not one of {', '.join(_METHODS)}"
        if self._checks_host() and not self._is_own(headers):
            return 403, (
                "the host name in the address is not this service's: ask it as localhost, "
                "or name the host among those it is allowed"
            )
        if method in _READING:
            return None
        if self._is_foreign(headers):
            return 403, "pages of other sites may not write here unless their origin is allowed"
        return _without_type(headers)

    def _is_own(self, headers: _Headers) -> bool:
        given = headers.get(b"host", ())
        if len(given) != 1:
            return False
        return _is_loopback_host(given[0]) or host_name(given[0].decode("latin-1")) in self._hosts

    def _is_foreign(self, headers: _Headers) -> bool:
        """Whether the page of another site sent a request, as far as the browser tells.

        A browser sends each of these headers once: of several, one is not the browser's.
        """
        origins, sites = headers.get(b"origin", ()), headers.get(b"sec-fetch-site", ())
        if len(origins) > 1 or len(sites) > 1:
            return True
        origin = origins[0].decode("latin-1").lower() if origins else ""
        if origin in self._origins:
            return False
        if sites:
            return sites[0] not in (b"same-origin", b"none")
        # Proxies change the scheme; the host is what they are asked to keep.
        host = b"".join(headers.get(b"host", ())).decode("latin-1").lower()
        return bool(origin) and origin.partition("://")[2] != host


def _checked_headers(scope: "HTTPScope") -> _Headers:
    """Every value of the headers that are checked."""
    found: _Headers = {}
    for name, value in scope["headers"]:
        if name in _CHECKED:
            found.setdefault(name, []).append(value)
    return found


@lru_cache(64)
def _is_loopback_host(host: bytes) -> bool:
    return is_loopback(host_name(host.decode("latin-1")))


def host_name(host: str) -> str:
    """A Host header without its port, in lower case; empty if it is none."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        name = host
    if any(mark in name for mark in "/@?#\\ ,"):
        return ""
    return name.lower()


def _without_type(headers: _Headers) -> Refusal | None:
    """See that a body says what it is, and is nothing that any page may send."""
    lengths = headers.get(b"content-length", ())
    if b"transfer-encoding" not in headers and all(length == b"0" for length in lengths):
        return None
    given = headers.get(b"content-type", ())
    kinds = [kind.partition(b";")[0].strip().lower() for kind in given]
    if len(kinds) != 1 or not kinds[0] or kinds[0] in _FORM_TYPES:
        return 415, "send a content type that says what the body is, e.g. application/json"
    return None


async def refuse(
    send: "Send", status: int, reason: str, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    """Answer with a code and a reason, in the words of both APIs."""
    body = msgspec.json.encode({"code": status, "error_code": status, "message": reason})
    told: Any = [
        (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)),
        *(headers or ()),
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body, "more_body": False})
