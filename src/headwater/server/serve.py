"""Runs the server until it is told to stop."""

import gc

import uvicorn

from headwater.server.app import make_app
from headwater.server.settings import Settings


def serve(settings: Settings) -> None:
    """Serve; SIGTERM and Ctrl-C finish what was accepted.

    Raises: UnknownStore, StoreUnreachable.
    """
    app = make_app(settings)
    # A large answer is many objects that soon go: looking for cycles among them took half
    # the time of a graph of 3,000 nodes.
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        log_level=settings.log_level,
        access_log=False,
        http="httptools",
        timeout_graceful_shutdown=30,
        server_header=False,
    )
