"""Takes secrets out of the names in a request's path, before anything looks at them.

Names in events are masked before they are stored. What a path names is masked by the same rules,
so that a write stores no secret and a read finds what was stored.
"""

from collections.abc import Callable
from urllib.parse import quote, unquote

from litestar.types import ASGIApp, Receive, Scope, Send

_NAMES = ("namespace", "name", "field", "tag")
_MOST_ESCAPES = 4


def masked_paths(app: ASGIApp, mask: Callable[[str], str]) -> ASGIApp:
    """An application whose handlers get the names in paths without secrets."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        given = scope.get("path_params") or {}
        for name in _NAMES:
            text = given.get(name)
            if isinstance(text, str) and (clean := mask_escaped(text, mask)) != text:
                given[name] = clean
        await app(scope, receive, send)

    return wrapped


def mask_escaped(text: str, mask: Callable[[str], str]) -> str:
    """A part of an address without secrets, however often it is percent-encoded."""
    plain = text
    for _ in range(_MOST_ESCAPES):
        clean = mask(plain)
        if clean != plain:
            return quote(clean, safe="/*")
        plain, before = unquote(plain), plain
        if plain == before:
            break
    return text
