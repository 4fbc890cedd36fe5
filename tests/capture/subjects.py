"""A small real HTTP server that answers as a schema registry does."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


class Subjects:
    """Keeps the newest schema of each subject, Avro records of text fields."""

    def __init__(self) -> None:
        self._schemas: dict[str, str] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def register(self, subject: str, *fields: str) -> None:
        listed = [{"name": name, "type": "string"} for name in fields]
        self._schemas[subject] = json.dumps({"type": "record", "name": "R", "fields": listed})

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        schemas = self._schemas

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                schema = schemas.get(unquote(self.path).split("/")[2])
                body = json.dumps({"schema": schema} if schema else {"error_code": 40401}).encode()
                self.send_response(200 if schema else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        return Handler
