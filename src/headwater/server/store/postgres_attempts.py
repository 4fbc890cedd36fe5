"""Notes why sessions of PostgreSQL could not be begun: the pool only logs it, and tries again."""

import os
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

import psycopg

from headwater.openlineage.masking import mask_text
from headwater.server.store.database import Row

CONNECT = 2  # seconds for a new connection; libpq takes no less
_FAILURES = 2  # a busy machine may fail once


class Attempts:
    """The last failures to begin a session; for any thread."""

    def __init__(self) -> None:
        self.message = ""  # of the last failure, without secrets
        self._times: deque[float] = deque(maxlen=_FAILURES)

    def connection_class(self) -> type[psycopg.Connection[Row]]:
        """Connections that note here why they could not be opened."""
        attempts = self

        class NotedConnection(psycopg.Connection[Row]):
            @classmethod
            def connect(cls, *args: Any, **kwargs: Any) -> Any:
                with attempts.noted():
                    return super().connect(*args, **kwargs)

        return NotedConnection

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note an error, and raise it."""
        try:
            yield
        except psycopg.Error as error:
            self.message = reason(error)
            self._times.append(monotonic())
            raise

    def have_failed(self, since: float) -> bool:
        """Whether several attempts have failed since a moment."""
        return len(self._times) == _FAILURES and self._times[0] > since


@contextmanager
def answered_soon(connection: psycopg.Connection[Row]) -> Iterator[None]:
    """Cut a connection off if what is asked on it takes longer than to connect may take.

    Raises: psycopg.errors.ConnectionTimeout.
    """
    is_over = threading.Event()

    def end() -> None:
        is_over.set()
        cut_off(connection)

    timer = threading.Timer(CONNECT, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except psycopg.Error:
        if is_over.is_set():
            message = f"a session was begun, but did not answer within {CONNECT} seconds"
            raise psycopg.errors.ConnectionTimeout(message) from None
        raise
    finally:
        timer.cancel()


def cut_off(connection: psycopg.Connection[Row]) -> None:
    """End a connection under the thread that waits for it."""
    with (
        suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as end,
    ):
        end.shutdown(socket.SHUT_RDWR)


def reason(error: Exception) -> str:
    """Why the database was not reached; of an address that cannot be parsed nothing is repeated."""
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        return "the address cannot be parsed; encode special characters in it (%40 for @)"
    # Of a host with several addresses, a line tells of each.
    lines = str(error).splitlines() or [type(error).__name__]
    return mask_text(next((line for line in lines if "FATAL" in line), lines[0]))
