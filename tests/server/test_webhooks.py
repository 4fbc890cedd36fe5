"""Webhooks are called for what they are about: signed, in order, until they are answered."""

import asyncio
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from headwater.cli.main import main
from headwater.server.lineage.view import StoreViews
from headwater.server.live.webhooks import Webhooks
from headwater.server.store.aliases import AliasRules
from headwater.server.store.database import open_database
from headwater.server.store.feed import feed_ends
from headwater.server.store.hooks import create_hook, list_hooks
from headwater.server.store.store import Store
from server.events import as_bytes, dataset, facet, run_event, run_id, schema
from server.process import ServerProcess


class Receiver(ThreadingHTTPServer):
    """Takes calls; the first few it refuses."""

    def __init__(self, refused: int = 0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hook"
        self.refused = refused
        self.calls: list[tuple[dict[str, str], bytes]] = []
        self.news = threading.Condition()

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        with self.news:
            assert self.news.wait_for(lambda: len(self.calls) >= count, 60), self.calls
            return [json.loads(body) for _, body in self.calls]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        with self.server.news:
            is_refused = self.server.refused > 0
            self.server.refused -= 1
            if not is_refused:
                told = {name.lower(): value for name, value in self.headers.items()}
                self.server.calls.append((told, body))
                self.server.news.notify_all()
        self.send_response(503 if is_refused else 204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver(refused=2) as found:
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield found
        found.shutdown()
        thread.join(120)


def _create(store_url: str, *args: Any) -> str:
    database = open_database(store_url)
    try:
        return create_hook(database, *args)
    finally:
        database.close()


def test_failures_are_told_in_order_signed_and_after_refusals(
    server: ServerProcess, receiver: Receiver
) -> None:
    secret = _create(server.store_url, "on-call", receiver.url, ["run.failed"], None)
    for number in range(3):
        why = facet(message=f"no room {number}")
        server.api.send(run_event("FAIL", number, run=f"r{number}", errorMessage=why))
        server.api.send(run_event("COMPLETE", number, run=f"c{number}"))
    told = receiver.wait_for(3)
    assert [(t["type"], t["data"]["runId"], t["data"]["error"]) for t in told[:3]] == [
        ("run.failed", run_id(f"r{n}"), f"no room {n}") for n in range(3)
    ]
    headers, body = receiver.calls[0]
    time, _, signature = headers["headwater-signature"].removeprefix("t=").partition(",v1=")
    expected = hmac.new(secret.encode(), f"{time}.".encode() + body, hashlib.sha256).hexdigest()
    assert signature == expected
    assert headers["headwater-delivery"] == told[0]["id"]


def test_changes_around_a_node_are_told(server: ServerProcess, receiver: Receiver) -> None:
    server.api.send(run_event("START", 0, run="a", outputs=[dataset("t", schema=schema("x"))]))
    args = ("t", receiver.url, ["schema.changed", "lineage.changed"], "dataset:db:t")
    _create(server.store_url, *args)
    server.api.send(
        run_event("START", 1, run="other", job="other", outputs=["elsewhere"]),
        run_event("RUNNING", 2, run="a", outputs=[dataset("t", schema=schema("x", "y"))]),
    )
    told = receiver.wait_for(1)
    assert told[0]["type"] == "schema.changed"
    assert "dataset:db:t" in told[0]["data"]["nodeIds"]


async def _call_due(hooks: Webhooks) -> None:
    async with httpx.AsyncClient() as client:
        await asyncio.gather(*await hooks.start_due(client))


def test_a_webhook_whose_node_cannot_be_looked_up_is_logged_once(
    store_url: str, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    """Once for each reason, however often it is tried; it neither stops nor delays the others."""
    store = Store(store_url, AliasRules(()))
    hooks = Webhooks(store, StoreViews(store.database, store.rules))
    node = "datasetField:" + ":".join("a" * 601)
    _create(store_url, "unclear", receiver.url, [], node)
    _create(store_url, "clear", receiver.url, ["run.failed"], None)
    for number in range(1, 9):
        made = dataset("t", ":".join("a" * number))
        store.ingest([store.read(as_bytes(run_event("FAIL", number, outputs=[made])))]).result()
    receiver.refused = 0
    for _ in range(3):
        store.writer.change(
            lambda commit: commit.session.run("UPDATE webhook SET claimed_until = 0")
        )
        asyncio.run(_call_due(hooks))
    told = [record.getMessage() for record in caplog.records if record.name.endswith("webhooks")]
    assert len(told) == 1, told
    assert "unclear" in told[0]
    assert "colons" in told[0]
    assert len(receiver.calls) == 1
    store.close()


class _Odd(ThreadingHTTPServer):
    """Answers 200 after the parts of a body, or never, until it is closed."""

    def __init__(self, part: bytes, pause: float, *, has_head: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _OddHandler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hook"
        self.part, self.pause, self.has_head = part, pause, has_head
        self.is_over, self.called = threading.Event(), threading.Event()
        self.sent = 0


class _OddHandler(BaseHTTPRequestHandler):
    server: _Odd

    def do_POST(self) -> None:
        self.server.called.set()
        head = b"HTTP/1.1 200 OK\r\n"
        self.wfile.write(head + b"\r\n" if self.server.has_head else head)
        with suppress(OSError):
            while not self.server.is_over.wait(self.server.pause):
                self.wfile.write(self.server.part)
                self.server.sent += len(self.server.part)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def _odd(part: bytes, pause: float, *, has_head: bool = True) -> Iterator[_Odd]:
    with _Odd(part, pause, has_head=has_head) as found:
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield found
        found.is_over.set()
        found.shutdown()
        thread.join(120)


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_receiver_that_answers_slowly_delays_no_other(
    server: ServerProcess, receiver: Receiver
) -> None:
    receiver.refused = 0
    with _odd(b"x", 0.2) as body, _odd(b"a: b\r\n", 0.2, has_head=False) as head:
        for name, url in (("body", body.url), ("head", head.url), ("good", receiver.url)):
            _create(server.store_url, name, url, ["run.failed"], None)
        server.api.send(run_event("FAIL", 0, run="first"))
        assert body.called.wait(60)
        assert head.called.wait(60)
        for number in range(1, 4):
            server.api.send(run_event("FAIL", number, run=f"r{number}"))
            receiver.wait_for(number + 1)
        until = time.monotonic() + 60
        while "webhook head: no answer within" not in server.log():
            assert time.monotonic() < until, server.log()
            time.sleep(0.1)


def test_a_body_without_end_is_not_read_to_its_end(store_url: str) -> None:
    """The status alone says whether a call has succeeded."""
    store = Store(store_url, AliasRules(()))
    hooks = Webhooks(store, StoreViews(store.database, store.rules))
    with _odd(bytes(2**16), 0) as endless:
        _create(store_url, "endless", endless.url, ["run.failed"], None)
        store.ingest([store.read(as_bytes(run_event("FAIL", 1)))]).result()
        asyncio.run(asyncio.wait_for(_call_due(hooks), 60))
        assert endless.called.is_set()
        assert endless.sent < 64 * 2**20
    with store.database.reading() as session:
        assert list_hooks(session)[0].position == feed_ends(session)[1]
    store.close()


def test_webhooks_on_the_command_line(
    store_url: str, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["webhook", *args, "--store", store_url])
        told = capsys.readouterr()
        return int(end.value.code or 0), told.out, told.err

    code, secret, _ = run("create", "x", receiver.url, "--on", "run.failed")
    assert (code, len(secret.strip())) == (0, 64)
    assert run("create", "x", receiver.url)[0] == 2
    assert run("create", "y", receiver.url, "--on", "rain")[0] == 2
    listed = run("list")[1]
    assert ("run.failed" in listed, secret.strip() in listed) == (True, False)
    assert run("test", "x")[0] == 1  # it refuses twice
    assert run("test", "x")[0] == 1
    assert run("test", "x")[0] == 0
    assert json.loads(receiver.calls[0][1])["type"] == "test"
    assert run("delete", "x")[0] == 0
    assert run("delete", "x")[0] == 2
