"""What a key with namespaces is streamed: its own changes, all of them, and nothing of others."""

import asyncio
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from headwater.http.keys import Key
from headwater.server.live import feed as live_feed
from headwater.server.live.feed import Client, Live
from headwater.server.live.items import TYPES, Filter, write
from headwater.server.live.webhooks import bodies
from headwater.server.store.aliases import AliasRules
from headwater.server.store.feed import Numbered, read_feed
from headwater.server.store.hooks import KINDS, Hook
from headwater.server.store.store import Store
from server.events import (
    Event,
    as_bytes,
    comes_from,
    dataset,
    dataset_event,
    lineage,
    run_event,
    schema,
    symlinks,
)
from server.test_feed_limits import add_row

Told = tuple[str, dict[str, Any]]
Name = tuple[str, str]
_LAB = Key(1, "labr", frozenset({"read"}), ("lab",))
_MANY = 1500


@contextmanager
def _open(store_url: str) -> Iterator[Store]:
    store = Store(store_url, AliasRules(()))
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with _open(store_url) as found:
        yield found


def _commit(store: Store, *events: Event) -> None:
    """Ingest events in one commit."""
    store.ingest([store.read(as_bytes(event)) for event in events]).result()


def _entries(store: Store) -> list[Numbered]:
    found: list[Numbered] = []
    with store.database.reading() as session:
        while page := read_feed(session, found[-1].number if found else 0):
            found += page
    return found


def _sent(store: Store, key: Key | None = _LAB, *, about: Iterable[str] = ()) -> list[Told]:
    """What a client is sent of the whole feed."""
    client = Client(Filter(frozenset(TYPES), frozenset(about) or None, key), 0)
    items = [write(numbered) for numbered in _entries(store)]
    parts = []
    while items:
        parts.append(client.take(items))
        items = [item for item in items if item.number > client.seen]
    return [_told(message) for message in b"".join(parts).decode().split("\n\n") if message]


def _told(message: str) -> Told:
    fields = dict(line.split(": ", 1) for line in message.splitlines())
    assert fields["id"].isdigit()
    return fields["event"], json.loads(fields["data"])


def _graphs(told: list[Told]) -> list[dict[str, Any]]:
    return [data for kind, data in told if kind == "graph"]


def _of(namespace: str, event: Event) -> Event:
    event["job"]["namespace"] = namespace
    return event


def _many(namespace: str, count: int = _MANY) -> list[dict[str, Any]]:
    return [dataset(f"d{number:05}", namespace) for number in range(count)]


@pytest.mark.parametrize("count", [3, _MANY])
def test_a_change_is_told_however_much_of_others_changed_with_it(store: Store, count: int) -> None:
    run = run_event("START", 1, inputs=[dataset("mine", "lab")], outputs=_many("aaa", count))
    _commit(store, _of("aaa", run))
    own = {"at": run["eventTime"], "kinds": ["EDGE_ADDED"], "nodeIds": ["dataset:lab:mine"]}
    assert _sent(store) == [("graph", own)]
    assert _sent(store, about=["dataset:lab:mine"]) == [("graph", own)]
    assert _sent(store, about=["dataset:lab:another"]) == []
    told = _graphs(_sent(store, None))
    assert len(told) == 1  # whoever may see everything is told of a commit once
    assert told[0].get("omitted") == (["nodeIds"] if count == _MANY else None)
    assert len(_graphs(_sent(store, None, about=["dataset:lab:mine"]))) == 1


def test_a_key_that_comes_back_is_told_of_each_of_its_namespaces(store: Store) -> None:
    """Of one commit there is a message for each, and no id before the last counts it as sent."""
    _commit(store, _of("lab", run_event("START", 1, inputs=[dataset("d", "lab-bucket")])))
    client = Client(Filter(frozenset({"graph"}), None, _LAB), 0)
    text = client.take([write(numbered) for numbered in _entries(store)]).decode()
    told = [_told(message) for message in text.split("\n\n") if message]
    assert [data["nodeIds"] for _, data in told] == [["job:lab:job"], ["dataset:lab-bucket:d"]]
    assert [int(number) for number in re.findall(r"id: (\d+)", text)] == [1, 2]


def test_a_schema_of_others_is_not_told_as_a_change_of_the_keys_own(store: Store) -> None:
    outputs = [dataset("y", "prod", schema=schema("a"))]
    run = run_event("START", 1, inputs=[dataset("x", "lab")], outputs=outputs)
    later = run_event("START", 9, run="other", job="other", outputs=["z"])
    _commit(store, _of("prod", run), _of("prod", later))
    (told,) = _sent(store)
    assert told[1]["kinds"] == ["EDGE_ADDED"]
    assert told[1]["at"] == run["eventTime"]


def test_what_is_left_out_of_the_keys_own_is_said(store: Store) -> None:
    run = run_event("START", 1, job="loads", outputs=_many("lab"))
    _commit(store, _of("lab", run), _of("aaa", run_event("START", 1, run="a", outputs=["u"])))
    (told,) = _graphs(_sent(store))
    assert (len(told["nodeIds"]), told["omitted"]) == (1000, ["nodeIds"])
    # A node that may be one of those left out is taken for one.
    assert len(_graphs(_sent(store, about=["dataset:lab:d01400"]))) == 1
    assert len(_graphs(_sent(store, None, about=["dataset:lab:d01400"]))) == 1
    for other in ("dataset:db:d01400", "dataset:lab:d00500x"):
        assert _graphs(_sent(store, None, about=[other])) == []


def test_a_dataset_is_told_by_the_name_that_is_of_the_key(store: Store) -> None:
    _commit(store, _of("lab", run_event("START", 0, outputs=[dataset("linked", "lab")])))
    _commit(store, dataset_event(1, dataset("shown", "prod", symlinks=symlinks(("lab", "linked")))))
    before = len(_sent(store))
    reader = run_event("START", 2, run="r", job="r", inputs=[dataset("shown", "prod")])
    _commit(store, _of("prod", reader))
    told = _sent(store)[before:]
    assert [data["nodeIds"] for _, data in told] == [["dataset:lab:linked"]]
    assert _graphs(_sent(store, None))[-1]["nodeIds"] == ["dataset:prod:shown", "job:prod:r"]


def test_more_than_can_be_told_apart_is_told_as_lost(store: Store) -> None:
    """Only a commit that changes tens of namespaces up to the limit of each."""
    outputs = [one for number in range(40) for one in _many("n" * 100 + f"{number}", 900)]
    run = run_event("START", 1, inputs=[dataset("mine", "lab")], outputs=outputs)
    _commit(store, _of("aaa", run))
    assert [kind for kind, _ in _sent(store)] == ["lost"]
    assert [kind for kind, _ in _sent(store, None)] == ["run", "graph"]


class _Story:
    """Commits of random events in four namespaces, of which the key has two."""

    _OWN = ("lab", "lab-bucket")
    _OTHER = ("aaa", "prod")

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.commits = [self._first(), *(self._next(number) for number in range(1, 13))]

    def _first(self) -> list[Event]:
        linked = dataset("linked", "prod", symlinks=symlinks(("lab", "linked")))
        return [dataset_event(0, linked)]

    def _next(self, number: int) -> list[Event]:
        events = [self._event(number, part) for part in range(self._random.randrange(1, 5))]
        if self._random.random() < 0.4:
            events.append(self._flood(number))
        return events

    def _event(self, number: int, part: int) -> Event:
        namespace = self._random.choice((*self._OWN, *self._OTHER))
        is_private = namespace in self._OTHER and self._random.random() < 0.5
        spaces = self._OTHER if is_private else (*self._OWN, *self._OTHER)
        job = f"{'private' if is_private else 'job'}{self._random.randrange(4)}"
        state = self._random.choice(("START", "RUNNING", "COMPLETE", "FAIL"))
        return _of(namespace, run_event(
            state, self._random.randrange(number, 20), run=f"{number}-{part}-{namespace}", job=job,
            inputs=[self._dataset(spaces) for _ in range(self._random.randrange(3))],
            outputs=[self._output(spaces) for _ in range(self._random.randrange(3))],
        ))  # fmt: skip

    def _flood(self, number: int) -> Event:
        namespace = self._random.choice(("aaa", "lab", "prod"))
        count = self._random.choice((400, 1300))
        some = [dataset(f"{number}-{n}", namespace, schema=schema("x")) for n in range(count)]
        flood = run_event("START", 19, run=f"flood{number}", job=f"private-flood{number}",
                          outputs=some)  # fmt: skip
        return _of(namespace, flood)

    def _dataset(self, spaces: tuple[str, ...], **facets: Any) -> dict[str, Any]:
        name = "linked" if self._random.random() < 0.2 else f"d{self._random.randrange(6)}"
        namespace = self._random.choice(spaces)
        if spaces == self._OTHER and name == "linked":
            name = "d0"
        return dataset(name, namespace, **facets)

    def _output(self, spaces: tuple[str, ...]) -> dict[str, Any]:
        columns = [f"c{n}" for n in range(self._random.randrange(1, 4))]
        origin = comes_from(f"d{self._random.randrange(6)}", "c0", self._random.choice(spaces))
        facets = {"schema": schema(*columns), "columnLineage": lineage(c0=[origin])}
        return self._dataset(spaces, **(facets if self._random.random() < 0.7 else {}))

    def without_others(self) -> list[list[Event]]:
        """The commits as if others had done nothing but read and write the key's datasets."""
        return [[*filter(None, map(self._stripped, events))] for events in self.commits]

    def _stripped(self, event: Event) -> Event | None:
        if "job" not in event:
            return event
        is_own = event["job"]["namespace"] in self._OWN
        if not is_own and event["job"]["name"].startswith("private"):
            return None
        sides = {side: [*self._own(event.get(side, []))] for side in ("inputs", "outputs")}
        return {**event, **sides}

    def _own(self, datasets: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Datasets of others by name alone, with the key's own of which they are made."""
        for one in datasets:
            if one["namespace"] in self._OWN or (one["namespace"], one["name"]) == _LINKED:
                yield one
            else:
                facets = one.get("facets", {})
                kept = {name: facets[name] for name in facets if name == "columnLineage"}
                yield dataset(one["name"], one["namespace"], **kept)


_LINKED = ("prod", "linked")


@pytest.mark.parametrize("seed", range(6))
def test_a_key_is_sent_what_it_would_be_sent_without_the_others(
    store: Store, new_store: Callable[[], Store], seed: int
) -> None:
    story, alone = _Story(seed), new_store()
    for together, own in zip(story.commits, story.without_others(), strict=True):
        _commit(store, *together)
        if own:
            _commit(alone, *own)
    for key in (_LAB, _LAB._replace(namespaces=("lab-",))):
        for about in ([], ["dataset:lab:d1", "job:lab:job1"], ["dataset:lab-bucket:d2"]):
            assert _sent(store, key, about=about) == _sent(alone, key, about=about)
    assert len(_graphs(_sent(store))) > 3
    texts = json.dumps(_sent(store))
    assert not any(f":{other}:" in texts for other in ("aaa", "prod"))


@pytest.fixture
def new_store(store_url: str, stores: Any) -> Iterator[Callable[[], Store]]:
    """Makes further stores of the same kind."""
    made: list[tuple[str, Store]] = []

    def make() -> Store:
        url = stores.new(store_url.partition(":")[0])
        made.append((url, Store(url, AliasRules(()))))
        return made[-1][1]

    yield make
    for url, one in made:
        one.close()
        stores.drop(url)


def _calls(store: Store, node: str | None) -> list[str]:
    """What a webhook about a node is called for."""
    hook = Hook(1, "hook", "", "", frozenset(KINDS), node, 0)
    nodes = None if node is None else frozenset([node])
    return [body["type"] for entry in _entries(store) for body in bodies(hook, entry, nodes)]


def test_a_webhook_about_a_node_is_called_for_changes_of_that_node(store: Store) -> None:
    outputs = [dataset("y", "prod", schema=schema("a")), *_many("aaa")]
    _commit(store, _of("prod", run_event("START", 1, inputs=[dataset("x", "lab")],
                                         outputs=outputs)))  # fmt: skip
    assert _calls(store, "dataset:lab:x") == ["lineage.changed"]
    assert _calls(store, "dataset:prod:y") == ["lineage.changed", "schema.changed"]
    assert _calls(store, "dataset:prod:z") == []
    assert _calls(store, None) == ["lineage.changed", "schema.changed"]


def test_rows_of_earlier_versions_tell_a_key_nothing_that_may_be_of_others(store: Store) -> None:
    mixed, own = ["dataset:lab:x", "dataset:prod:y"], ["dataset:lab:x"]
    add_row(store, [["g", 1, ["EDGE_ADDED"], own], ["g", 1, ["EDGE_ADDED"], mixed[1:], False]])
    assert [kind for kind, _ in _sent(store)] == ["graph"]
    add_row(store, [["g", 1, ["SCHEMA_CHANGED"], mixed], ["g", 1, ["EDGE_ADDED"], own, True]])
    add_row(store, [["g", 1, ["EDGE_ADDED"], mixed[1:], True]])
    assert [kind for kind, _ in _sent(store)] == ["graph", "lost", "lost", "lost"]
    assert [kind for kind, _ in _sent(store, None)] == ["graph"] * 5
    told = _calls(store, "dataset:prod:y")
    assert told == ["lineage.changed", "schema.changed", "lineage.changed", "lineage.changed"]


class _Earlier(Struct, array_like=True, tag="g", frozen=True):
    """A change of the graph as the version before read it."""

    at: int
    kinds: list[str]
    nodes: list[str]
    is_cut: bool = False


def test_earlier_versions_read_the_rows_of_this_one(store: Store) -> None:
    run = run_event("START", 1, inputs=[dataset("mine", "lab")], outputs=_many("aaa"))
    _commit(store, _of("aaa", run))
    told = [numbered.entry for numbered in _entries(store)[1:]]
    read = [msgspec.msgpack.decode(msgspec.msgpack.encode(entry), type=_Earlier) for entry in told]
    assert read[0].is_cut
    assert len(read[0].nodes) == 1000
    assert read[0].nodes[0] == "dataset:aaa:d00000"
    assert all(one.kinds == ["EDGE_ADDED"] for one in read)


def test_a_client_is_told_that_it_is_heard_while_others_are_busy(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_feed, "_QUIET", 0.5)

    async def watch() -> list[bytes]:
        live = Live(store.database, 0.05)
        live.start()
        told: list[bytes] = []
        stream = live.watch(Filter(frozenset(TYPES), None, _LAB), None)

        async def read() -> None:
            told.extend([part async for part in stream])

        reader = asyncio.create_task(read())
        for number in range(20):
            run = _of("prod", run_event("START", 1, run=f"r{number}"))
            await asyncio.to_thread(_commit, store, run)
            await asyncio.sleep(0.1)
        await live.stop()
        await reader
        return told

    told = asyncio.run(watch())
    assert told[0] == b"retry: 1000\n\n"
    assert 2 <= told.count(b": still here\n\n") <= 8
    assert {*told[1:]} == {b": still here\n\n"}
