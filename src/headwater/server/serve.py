"""Runs the server until it is told to stop."""

import uvicorn

from headwater.server.app import make_app
from headwater.server.settings import Settings


def serve(settings: Settings) -> None:
    """Serve; SIGTERM and Ctrl-C finish what was accepted.

    Raises: UnknownStore, StoreUnreachable.
    """
    app = make_app(settings)
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
