"""Middleware that keeps long addresses out of Litestar's caches.

Litestar keeps what it parses of the last 1,024 addresses, whatever their length. Requests of 64 KB,
each with another address, would keep hundreds of megabytes in memory.
"""

from typing import TYPE_CHECKING

from litestar._asgi.routing_trie.traversal import parse_path_params
from litestar._kwargs.extractors import create_query_default_dict
from litestar._parsers import parse_query_string
from litestar.datastructures.url import URL

if TYPE_CHECKING:
    from litestar import Litestar
    from litestar.types import ASGIApp, Receive, Scope, Send

_LONG = 512  # characters of an address that is not kept


def forgetting_long_addresses(api: "Litestar") -> "ASGIApp":
    """An API as an application that keeps nothing of a long address."""
    caches = (
        api.asgi_router.handle_routing,
        parse_path_params,
        parse_query_string,
        create_query_default_dict,
        URL.from_components,
    )

    async def wrapped(scope: "Scope", receive: "Receive", send: "Send") -> None:
        is_long = len(scope.get("path", "")) + len(scope.get("query_string", b"")) > _LONG
        try:
            await api(scope, receive, send)
        finally:
            if is_long:
                for cache in caches:
                    cache.cache_clear()

    return wrapped
