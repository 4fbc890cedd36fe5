"""Who may use a worker's API: everyone on its machine, or those with a key."""

import base64
from typing import TYPE_CHECKING, Protocol

from litestar.enums import ScopeType

from headwater.errors import UsageError
from headwater.http.checks import RequestChecks, is_loopback, refuse
from headwater.http.keys import ADMIN, READ, Key, bearer

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

_READING = ("GET", "HEAD", "OPTIONS")


class Keys(Protocol):
    """Finds the key of a request."""

    def find(self, key: str | None) -> Key | None:
        """The valid key of that text."""


class KeyCheck:
    """An ASGI application behind a check of API keys: reading needs one scope, changes another."""

    def __init__(self, app: "ASGIApp", keys: Keys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer 401 or 403, or pass the request on."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        key = self._keys.find(bearer(scope) or _password(scope))
        needed = _needed(scope)
        if key is None:
            challenge = [(b"www-authenticate", b"Bearer")]
            await refuse(send, 401, "send Authorization: Bearer KEY", challenge)
        elif not key.may(needed):
            await refuse(send, 403, f"the key {key.name} lacks the scope {needed}")
        else:
            await self._app(scope, receive, send)


def guarded(app: "ASGIApp", keys: Keys | None, *, hosts: frozenset[str]) -> "ASGIApp":
    """The API behind its checks."""
    inner = KeyCheck(app, keys) if keys is not None else app
    return RequestChecks(inner, checks_host=lambda: keys is None, hosts=hosts)


def check_exposure(host: str, keys: Keys | None, *, is_open: bool) -> None:
    """See that a worker without keys listens on loopback only.

    Raises:
        UsageError: it would not.

    """
    if keys is None and not is_open and not is_loopback(host):
        raise UsageError(
            f"without a key the worker serves this machine only, and not {host}",
            hint="Pass --key-file FILE, made with `headwater key create NAME --scope admin "
            "--file FILE`, or --open if a reverse proxy authenticates requests",
        )


def _password(scope: "HTTPScope") -> str | None:
    """The key as the password of an address such as http://any:KEY@worker:8083."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    kind, _, text = (given[0] if len(given) == 1 else b"").partition(b" ")
    if kind.lower() != b"basic":
        return None
    try:
        return base64.b64decode(text, validate=True).decode().partition(":")[2] or None
    except ValueError:
        return None


def _needed(scope: "HTTPScope") -> str:
    if scope["method"] in _READING or scope["path"].endswith("/config/validate"):
        return READ
    return ADMIN
