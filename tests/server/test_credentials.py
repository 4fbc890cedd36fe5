"""Credentials that Headwater itself is given are shown, logged and sent to nobody else."""

import io
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from headwater.errors import HeadwaterError, StoreUnreachable, UnknownStore, UsageError
from headwater.openlineage.masking import mask_logs
from headwater.server.http.errors import describe
from headwater.server.store.database import open_database
from headwater.server.store.hooks import create_hook
from server.events import facet, run_event
from server.process import ServerProcess

_PLANTED = "hunter2"
_ADDRESSES = [
    "postgresql://app:hunter2@127.0.0.1:1/d",
    "postgresql://app@127.0.0.1:1/d?password=hunter2",
    "postgresql://127.0.0.1:1/d?user=app&password=hunter2&sslpassword=hunter2b",
    "postgresql://app:hunter2/x@127.0.0.1:1/d",
    "postgresql://app:hunter2@x@127.0.0.1:1/d",
    "mysql://app:hunter2@127.0.0.1/d",
]


class _Listener(ThreadingHTTPServer):
    """Keeps the headers of what it is asked, and has no events."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.headers: list[dict[str, str]] = []
        self.asked = threading.Event()
        self.place = f"127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(b'{"events": []}')

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        assert isinstance(self.server, _Listener)
        self.server.headers.append({name.lower(): text for name, text in self.headers.items()})
        self.server.asked.set()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _listening() -> Iterator[_Listener]:
    with _Listener() as listener:
        thread = threading.Thread(target=listener.serve_forever)
        thread.start()
        try:
            yield listener
        finally:
            listener.shutdown()
            thread.join(10)


def _run(*args: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "headwater.cli.main", *args]
    return subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("url", _ADDRESSES)
def test_no_command_shows_the_password_of_a_store(url: str) -> None:
    done = _run("key", "list", "--store", url)
    assert done.returncode in (1, 2)
    assert _PLANTED not in done.stdout + done.stderr


@pytest.mark.parametrize("url", _ADDRESSES)
@pytest.mark.parametrize(
    "error",
    [
        lambda url: StoreUnreachable(url, f"refused: {url}"),
        UnknownStore,
        lambda url: UsageError(f"{url!r} names no topic", hint=f"instead of {url}"),
    ],
)
def test_no_answer_holds_the_password_of_a_store(url: str, error: type[HeadwaterError]) -> None:
    _, body = describe(error(url))
    assert _PLANTED.encode() not in body
    assert b"127.0.0.1" in body


def test_an_import_sends_the_key_of_the_target_to_nobody_else(tmp_path: Path) -> None:
    with _listening() as marquez:
        args = ("import", "marquez", f"http://{marquez.place}", "--resume", str(tmp_path / "state"))
        for variables in ({}, {"MARQUEZ_API_KEY": "theirs"}):
            done = _run(*args, HEADWATER_KEY="hw_ours", OPENLINEAGE_API_KEY="ours", **variables)
            assert done.returncode == 0, done.stderr
    assert [asked.get("authorization") for asked in marquez.headers] == [None, "Bearer theirs"]


def test_the_address_of_a_webhook_is_in_no_log_and_no_answer(
    store_url: str, tmp_path: Path
) -> None:
    with _listening() as receiver:
        url = f"http://app:hunter2a@{receiver.place}/hook/hunter2b?token=hunter2c&x=hunter2d"
        database = open_database(store_url)
        with ServerProcess(store_url, tmp_path / "log", "--log-level", "debug") as server:
            create_hook(database, "on-call", url, ["run.failed"], None)
            why = facet(message="no room")
            server.api.send(run_event("FAIL", 0, errorMessage=why))
            assert receiver.asked.wait(60)
            told = server.api.client.get("/api/v1/audit").text
            told += server.log()
        database.close()
        told += _run("webhook", "list", "--store", store_url).stdout
        told += _run("webhook", "list", "--json", "--store", store_url).stdout
        done = _run("webhook", "test", "on-call", "--store", store_url)
        told += done.stdout + done.stderr
    assert receiver.headers[0]["authorization"].startswith("Basic ")
    assert "on-call" in told
    assert receiver.place in told
    assert _PLANTED not in told


def test_whatever_is_logged_is_masked() -> None:
    written = io.StringIO()
    root = logging.getLogger()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    root.addHandler(handler)
    try:
        mask_logs()
        try:
            raise ConnectionError("no answer at https://app:hunter2@host/x?token=hunter2")
        except ConnectionError:
            logging.getLogger("some.library").exception("call of %s", "jdbc:x://u:hunter2@h")
    finally:
        root.removeHandler(handler)
    text = written.getvalue()
    assert "ERROR call of jdbc:x://******@h" in text
    assert "ConnectionError: no answer at https://******@host/x?token=******" in text
    assert _PLANTED not in text
