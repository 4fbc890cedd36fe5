"""Runs the server until it is told to stop."""

import socket
import sys
from collections.abc import Callable
from typing import NamedTuple

import uvicorn

from headwater.errors import AddressUnavailable, KeyMissing
from headwater.http.checks import is_loopback
from headwater.http.connections import ConnectionLimits, protocol
from headwater.server.http.app import assemble
from headwater.server.ingest.kafka_consumer import Topic
from headwater.server.live.feed import Live
from headwater.server.memory import settle, share_heap
from headwater.server.metrics import CONNECTIONS_CLOSED
from headwater.server.settings import Settings

_SWITCH = 0.001  # seconds for which a thread keeps the interpreter while others wait


class Started(NamedTuple):
    """Where a server that is ready listens, and where it stores."""

    url: str
    store: str


def serve(settings: Settings, started: Callable[[Started], None] = lambda _: None) -> None:
    """Serve, and say so when requests are answered; SIGTERM and Ctrl-C finish what was accepted.

    Raises: AddressUnavailable, UnknownStore, StoreUnreachable, KeyMissing.
    """
    for url in settings.consume:
        Topic.parse(url)
    share_heap()
    listener = _listen(settings.host, settings.port)
    app, service = assemble(settings)
    if not (service.authenticator.has_keys or settings.open or is_loopback(settings.host)):
        service.store.close()
        listener.close()
        raise KeyMissing(settings.host)
    settle()
    # Threads that read bodies keep the interpreter for 5 ms at a time by default, and the event
    # loop needs it several times for one answer: /health took up to 670 ms, and takes 80 this way.
    sys.setswitchinterval(_SWITCH)
    limits = ConnectionLimits(settings.max_connections, settings.request_timeout)
    config = uvicorn.Config(
        app,
        log_config=None,  # everything is logged through the root logger, which masks secrets
        log_level=settings.log_level,
        access_log=False,
        http=protocol(limits, CONNECTIONS_CLOSED.inc),
        ws="none",
        timeout_graceful_shutdown=30,
        server_header=False,
        proxy_headers=False,  # nobody asks where a request came from
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )
    with listener:
        place = Started(_url(settings, listener), service.store.database.name)
        _Server(config, service.live, lambda: started(place)).run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that lets those who watch go before it waits for requests to end."""

    def __init__(self, config: uvicorn.Config, live: Live, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._live, self._ready = live, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say when requests are answered."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: streams at once, other requests when they are answered."""
        self._live.close()
        await super().shutdown(sockets)


def _url(settings: Settings, listener: socket.socket) -> str:
    """The address to open; a server that listens everywhere is reached at this machine's own."""
    host = settings.host if settings.host not in ("0.0.0.0", "::", "") else socket.gethostname()  # noqa: S104
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


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
