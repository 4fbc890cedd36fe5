"""A service that can be away: connections to a port are passed on once it is opened."""

import contextlib
import socket
import threading

from ports import free_port


class Door:
    """A port of this machine that leads to another one, while it is open."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host.rpartition("/")[2], int(port))
        self.port = free_port()
        self._listener: socket.socket | None = None
        self.taken = 0  # connections

    def open(self, *, answers: bool = True) -> None:
        """Take connections: pass them on, or take them and never answer."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._serve, args=(answers,), daemon=True).start()

    def close(self) -> None:
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()

    def _serve(self, answers: bool) -> None:
        assert self._listener is not None
        silent = []
        with contextlib.suppress(OSError):
            while True:
                inner, _ = self._listener.accept()
                self.taken += 1
                if not answers:
                    silent.append(inner)
                    continue
                outer = socket.create_connection(self._target)
                for source, target in ((inner, outer), (outer, inner)):
                    threading.Thread(target=_pump, args=(source, target), daemon=True).start()
        for one in silent:
            one.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
