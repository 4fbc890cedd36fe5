"""What the feed holds in memory is bounded, whatever producers put into their events."""

import gzip
from itertools import pairwise
from typing import Any
from uuid import uuid4

import msgspec
import psutil
import pytest
import zstandard

from headwater.server.live.items import write
from headwater.server.store.aliases import AliasRules
from headwater.server.store.feed import Numbered, RunChange, feed_ends, read_feed
from headwater.server.store.store import Store
from server.events import Event, as_bytes, facet, run_event, run_id
from server.process import ServerProcess
from server.streams import Watcher

_MOST = 2 * 2**20  # bytes of one read
_LONG = 3_000_000  # characters
_GZIP = {"content_encoding": "gzip"}


def _pages(store: Store) -> list[list[Numbered]]:
    """All entries, as they are read."""
    pages: list[list[Numbered]] = []
    after = 0
    with store.database.reading() as session:
        while page := read_feed(session, after):
            pages.append(page)
            after = page[-1].number
    return pages


def _texts(page: list[Numbered]) -> int:
    return sum(len(write(numbered).text) for numbered in page)


def _ingest(store: Store, *events: Event) -> None:
    store.ingest([store.read(as_bytes(event)) for event in events]).result()


def _many_names(number: int) -> Event:
    outputs = [f"{'t' * 900}{number}_{place}" for place in range(400)]
    return run_event("START", number, run=f"w{number}", job=f"w{number}", outputs=outputs)


def _events() -> list[list[Event]]:
    """Events that make large entries, or many, by commit."""
    error = facet(message="e" * _LONG)
    return [
        *([_late(number, watermark="w" * _LONG)] for number in range(4)),
        *([run_event("FAIL", number, run=f"f{number}", errorMessage=error)] for number in range(4)),
        *([_many_names(number)] for number in range(4)),
        [run_event("START", 1, run=f"r{n}", job="j" * 900) for n in range(2000)],
    ]


def _late(number: int, **progress: Any) -> Event:
    return run_event("RUNNING", number, run="s", headwater_progress=facet(rows=number, **progress))


def test_one_read_holds_a_bounded_number_of_bytes_and_nothing_is_left_out(store_url: str) -> None:
    store = Store(store_url, AliasRules(()))
    for events in _events():
        _ingest(store, *events)
    pages = _pages(store)
    assert max(map(_texts, pages)) < _MOST
    found = [numbered for page in pages for numbered in page]
    assert all(after.number == before.number + 1 for before, after in pairwise(found))
    runs = [numbered.entry for numbered in found if isinstance(numbered.entry, RunChange)]
    assert len({entry.run for entry in runs}) == 1 + 4 + 4 + 2000
    assert sum(entry.state == "FAILED" for entry in runs) == 4
    with store.database.reading() as session:
        for _, body in session.all("SELECT id, body FROM feed"):
            packed = zstandard.frame_content_size(body) if body[:1] == b"\x28" else len(body)
            assert packed < _MOST
    store.close()


def test_what_is_too_long_is_marked(server: ServerProcess) -> None:
    moment = "2026-03-02T08:00:30Z"
    with Watcher(server.url) as watcher:
        server.api.send(
            _many_names(0),
            _late(1, watermark="w" * _LONG),
            _late(2, watermark=moment),
            run_event("FAIL", 3, run="s", errorMessage=facet(message="e" * _LONG)),
        )
        told = watcher.wait_for(6)
    marks = [(one.event, one.data.get("omitted")) for one in told]
    assert marks == [
        ("run", None), ("graph", ["nodeIds"]), ("progress", ["watermark"]),
        ("run", None), ("progress", None), ("run", ["error"]),
    ]  # fmt: skip
    assert 100 < len(told[1].data["nodeIds"]) < 400
    assert (told[2].data["watermark"], told[4].data["watermark"]) == (None, moment)
    assert told[5].data["error"] == "e" * 2000


def add_row(store: Store, entries: list[Any]) -> None:
    """A row as earlier versions wrote it."""
    body = zstandard.compress(msgspec.msgpack.encode(entries), 1)

    def work(commit: Any) -> None:
        last = feed_ends(commit.session)[1] + len(entries)
        commit.session.run("INSERT INTO feed (id, body) VALUES (?, ?)", last, body)
        commit.cache.next_id["feed"] = last + 1

    store.writer.change(work).result()


def test_rows_of_earlier_versions_are_bounded_too(store_url: str) -> None:
    store = Store(store_url, AliasRules(()))
    run = uuid4().bytes
    add_row(store, [["r", run, "jobs", "job", "RUNNING", 1, None]])
    for _ in range(3):
        add_row(store, [["p", run, "jobs", "job", 1, 7, None, None, "w" * _LONG]] * 5)
    add_row(store, [["p", run, "jobs", "job", 1, 7, None, None, "w" * _LONG]] * 7)
    add_row(store, [["g", 1, ["EDGE_ADDED"], [f"job:{'j' * 900}:{n}" for n in range(1000)]]])
    add_row(store, [["r", run, "jobs", "job", "FAILED", 1, "no room"]])
    pages = _pages(store)
    assert max(map(_texts, pages)) < _MOST
    items = [write(numbered) for page in pages for numbered in page]
    assert [item.type for item in items] == [
        "run", *["progress"] * 15, "lost", "graph", "run"
    ]  # fmt: skip
    assert b'"omitted":["watermark"]' in items[1].text
    assert items[-1].number == _last(store)
    store.close()


def _last(store: Store) -> int:
    """The number of the last entry."""
    with store.database.reading() as session:
        return feed_ends(session)[1]


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_many_clients_that_come_back_do_not_fill_the_memory(server: ServerProcess) -> None:
    server.api.send(run_event("START", 0, run="s"))
    for number in range(60):
        body = gzip.compress(as_bytes(_late(number, watermark="w" * 2 * _LONG)))
        assert server.api.post(body, **_GZIP).status_code == 201
    for number in range(30):
        server.api.send(_many_names(number))
    assert server.process is not None
    process = psutil.Process(server.process.pid)
    before = process.memory_info().rss
    watchers = [Watcher(server.url, after=1) for _ in range(8)]
    for watcher in watchers:
        watcher.__enter__()
    for watcher in watchers:
        watcher.wait_until(lambda told: told.data.get("runId") == run_id("w29"))
    grown = process.memory_info().rss - before
    for watcher in watchers:
        watcher.__exit__(None, None, None)
        states = {told.data["runId"] for told in watcher.told if told.event == "run"}
        assert states == {run_id(f"w{number}") for number in range(30)}
    assert grown < 100 * 2**20
