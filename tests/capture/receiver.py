"""A small real HTTP server that keeps the OpenLineage events it is sent."""

import gzip
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from capture.waiting import until


class Receiver:
    """Listens on a free port; `answer` is the status it gives."""

    def __init__(self, port: int = 0) -> None:
        self.events: list[dict[str, Any]] = []
        self.answer = 201
        # The status for each event in its turn; 0 is to hang up without an answer.
        self.judge: Callable[[dict[str, Any]], int] = lambda _: self.answer
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def types(self, job: str) -> list[str]:
        """The event types of one job, heartbeats that follow each other as one."""
        found: list[str] = []
        for event in list(self.events):
            kind = str(event["eventType"])
            if event["job"]["name"] == job and not (kind == "RUNNING" and kind in found[-1:]):
                found.append(kind)
        return found

    def outputs(self) -> set[str]:
        """The names of everything that was told to be written."""
        return {one["name"] for event in list(self.events) for one in event["outputs"]}

    def wait_for(self, condition: Callable[["Receiver"], object], seconds: float = 180) -> None:
        until(lambda: condition(self), seconds, self._seen)

    def _seen(self) -> str:
        return str([(e["job"]["name"], e["eventType"]) for e in self.events])

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                status = receiver.judge(json.loads(body))
                if not status:
                    self.close_connection = True
                    return
                if status < 300:
                    receiver.events.append(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        return Handler
