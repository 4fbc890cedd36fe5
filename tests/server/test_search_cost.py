"""What a search costs is bounded, whatever the text and the names that it is compared with."""

import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headwater.server.lineage.text_search import having_text, trigrams
from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store import sqlite
from headwater.server.store.aliases import AliasRules
from headwater.server.store.database import Database, open_database
from headwater.server.store.store import Store
from server.api import Api
from server.conftest import open_api
from server.events import run_event
from server.stores import KINDS, Stores

_MOST = 10.0  # seconds; the slowest takes one on a quiet machine, and took twenty to sixty
_NAMES: dict[str, Callable[[int], str]] = {
    "one letter": lambda n: f"{'x' * 1000}{n}-{n}",
    "three letters": lambda n: f"{'abc' * 333}{n}",
    "a letter before many": lambda n: f"{'x' * 500}y{'x' * 500}{n}",
    "words": lambda n: f"{' '.join(f'word{(n * i) % 97}' for i in range(110))}{n}",
}
_TEXTS = [
    "x" * 30, "x" * 200, "x" * 1000, "x" * 3000, "x" * 999 + "7-7", "y" + "x" * 600,
    "xy" * 500, "abc" * 300, "abc" * 130 + "b", "x." * 400, "x:" * 400, "é" * 1000,
    " ".join(f"word{n}" for n in range(90)), " ".join(f"wurd{n}" for n in range(90)),
    " ".join(f"wurd{n}" for n in range(15)), "x" * 300 + "%_\\" * 30,
]  # fmt: skip
_PATHS = ("/resolve?name=", "/search?limit=100&q=", "/search?types=job,dataset,column,run&q=",
          "/jobs?q=", "/datasets?q=")  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def hostile(request: pytest.FixtureRequest, stores: Stores) -> Iterator[Api]:
    """A server over names that are hard to compare with a text."""
    with open_api(stores.new(request.param)) as api:
        for number, name in enumerate(_NAMES.values()):
            names = [name(n) for n in range(1000)]
            api.send(run_event("COMPLETE", number, run=f"{number}", inputs=names))
        yield api


@pytest.mark.parametrize("path", _PATHS)
def test_any_text_over_any_names_is_answered_soon(hostile: Api, path: str) -> None:
    path, _, wanted = path.partition("?")
    *params, asked = wanted.split("&")
    given = dict(param.split("=") for param in params)
    for text in _TEXTS:
        began = time.monotonic()
        status = hostile.status(path, **given, **{asked.rstrip("="): text})
        assert time.monotonic() - began < _MOST, (text[:10], len(text))
        assert status in {200, 400, 404, 413}, text


def test_a_few_trigrams_are_looked_up_each_once() -> None:
    assert trigrams("ab") == []
    assert trigrams("orders") == ["ord", "rde", "der", "ers"]
    assert trigrams("x" * 3000) == ["xxx"]
    chance = random.Random(1)
    for _ in range(200):
        text = "".join(chance.choices("abcdefgh", k=chance.randint(3, 3000)))
        found = trigrams(text)
        assert len(found) == len({*found}) <= 12
        assert found[0] == text[:3]
        assert all(each in text for each in found)


@pytest.mark.parametrize("kind", KINDS)
def test_what_holds_a_text_is_found_and_nothing_else(stores: Stores, kind: str) -> None:
    chance = random.Random(2)
    names = ["".join(chance.choices("abAB_%\\.\"'", k=chance.randint(1, 60))) for _ in range(400)]
    url = stores.new(kind)
    _store(url, [*dict.fromkeys(names)])
    database = open_database(url)
    try:
        for _ in range(400):
            name = chance.choice(names)
            start = chance.randrange(len(name))
            text = name[start : start + chance.randint(1, 40)].lower()
            expected = {name for name in names if text in name.lower()}
            assert _found(database, text) == expected, text
            assert _found(database, text + "a") == {n for n in names if text + "a" in n.lower()}
    finally:
        database.close()


def test_letters_beyond_ascii_are_found_in_either_case(stores: Stores) -> None:
    url = stores.new("sqlite")
    _store(url, ["ÉTÉ_ORDERS", "été_ordres", "ΣΊΣΥΦΟΣ", "ete"])
    database = open_database(url)
    try:
        assert _found(database, "été") == {"ÉTÉ_ORDERS", "été_ordres"}
        assert _found(database, "σίσυφος") == {"ΣΊΣΥΦΟΣ"}
    finally:
        database.close()


def _store(url: str, names: list[str]) -> None:
    store = Store(url, AliasRules(DEFAULT_ALIASES))
    with store.database.writing() as session:
        session.many(
            "INSERT INTO search (text, kind, target) VALUES (?, ?, ?)",
            [(name, "D", number) for number, name in enumerate(names)],
        )
    store.close()


def _found(database: Database, text: str) -> set[str]:
    condition, params = having_text(database.dialect, text)
    with database.reading() as session:
        return {
            row[0] for row in session.all(f"SELECT text FROM search WHERE {condition}", *params)
        }


def test_a_question_of_slow_steps_ends_in_time(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_LONGEST", 0.5)
    database = open_database(stores.new("sqlite"))
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000) "
    began = time.monotonic()
    with pytest.raises(sqlite3.OperationalError, match="interrupted"), database.reading() as asked:
        asked.all(
            f"{count} SELECT count(*) FROM n WHERE instr(? || i, ?) > 0",
            "x" * 10_000, "x" * 1000 + "y",
        )  # fmt: skip
    assert time.monotonic() - began < _MOST
    database.close()


def test_a_server_whose_readers_are_busy_is_ready(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, busy = threading.Event(), threading.Semaphore(0)

    def wait(*_: Any, **__: Any) -> None:
        busy.release()
        may_end.wait(120)
        raise TimeoutError

    monkeypatch.setattr("headwater.server.http.routes.resolve.resolve", wait)
    with open_api(store_url) as api, ThreadPoolExecutor(21) as pool:
        asked = [pool.submit(api.status, "/resolve", name="x") for _ in range(20)]
        assert all(busy.acquire(timeout=60) for _ in range(8))
        try:
            assert pool.submit(api.client.get, "/ready").result(_MOST).status_code == 200
        finally:
            may_end.set()
        assert {each.result(60) for each in asked} == {500}
