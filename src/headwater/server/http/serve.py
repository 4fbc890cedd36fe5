"""Runs the server until it is told to stop."""

import socket

import uvicorn

from headwater.errors import AddressUnavailable, KeyMissing
from headwater.server.http.app import assemble, is_loopback
from headwater.server.ingest.kafka_consumer import Topic
from headwater.server.live.feed import Live
from headwater.server.memory import settle, share_heap
from headwater.server.settings import Settings


def serve(settings: Settings) -> None:
    """Serve; SIGTERM and Ctrl-C finish what was accepted.

    Raises: AddressUnavailable, UnknownStore, StoreUnreachable, KeyMissing.
    """
    for url in settings.consume:
        Topic.parse(url)
    share_heap()
    listener = _listen(settings.host, settings.port)
    app, service = assemble(settings)
    if not (service.guard.has_keys or settings.open or is_loopback(settings.host)):
        service.store.close()
        listener.close()
        raise KeyMissing(settings.host)
    settle()
    config = uvicorn.Config(
        app,
        log_level=settings.log_level,
        access_log=False,
        http="httptools",
        timeout_graceful_shutdown=30,
        server_header=False,
        proxy_headers=False,  # nobody asks where a request came from
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )
    with listener:
        _Server(config, service.live).run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that lets those who watch go before it waits for requests to end."""

    def __init__(self, config: uvicorn.Config, live: Live) -> None:
        super().__init__(config)
        self._live = live

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: streams at once, other requests when they are answered."""
        self._live.close()
        await super().shutdown(sockets)


def _listen(host: str, port: int) -> socket.socket:
    """Take the address before anything else: an error is told at once, by its name."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        raise AddressUnavailable(
            host, port, getattr(error, "strerror", None) or str(error)
        ) from None
    return listener
