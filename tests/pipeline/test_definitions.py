"""What a worker keeps: records of tasks through every change, names of files, and who may ask."""

import json
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import BadConfig, StateInUse, StateUnreadable, UsageError
from headwater.http.keys import KeyFile
from headwater.pipeline.config import parse
from headwater.pipeline.hosting import targets
from headwater.pipeline.settings import Settings
from headwater.pipeline.states import State
from headwater.pipeline.targets import Target
from headwater.pipeline.worker.access import check_exposure, guarded
from headwater.pipeline.worker.definitions import (
    Definition,
    OldDefinition,
    check_name,
    decode,
    encode,
)
from headwater.pipeline.worker.lock import FolderLock
from headwater.pipeline.worker.records import adopted, old_names, with_records
from headwater.pipeline.worker.store import LocalStore, encoded

SETTINGS = Settings(catalog="cat")
NAMES = st.text(min_size=1, max_size=200).filter(lambda text: "\x00" not in text)


def places(**config: str) -> tuple[Target, ...]:
    values = {key.replace("__", "."): value for key, value in config.items()}
    return targets(parse("c", values, {}), SETTINGS)


def s3(topics: str, **more: str) -> tuple[Target, ...]:
    return places(connector__class="s3-sink", s3__bucket__name="b", topics=topics, **more)


def test_a_task_keeps_its_checkpoint_while_other_topics_come_and_go() -> None:
    one = with_records(Definition("c", {}), s3("a"))
    two = with_records(one, s3("a,b"))
    three = with_records(two, s3("b"))
    four = with_records(three, s3("b,a"))
    (key,) = one.tasks
    assert {one.tasks[key], two.tasks[key], three.tasks[key], four.tasks[key]} == {one.tasks[key]}
    assert len({record.checkpoint for record in four.tasks.values()}) == 2


def test_a_task_whose_target_moves_goes_on_from_the_one_before() -> None:
    one = with_records(Definition("c", {}), s3("a"))
    two = with_records(one, s3("a", topics__dir="x"))
    back = with_records(two, s3("a"))
    (before,), (moved,), (again,) = one.tasks.values(), two.tasks.values(), back.tasks.values()
    assert moved.origin is not None
    assert moved.origin.record == before
    assert again.origin is not None
    assert again.origin.record == moved
    assert len({before.checkpoint, moved.checkpoint, again.checkpoint}) == 3


def test_dead_letters_and_tables_are_targets_of_their_own() -> None:
    letters = {"errors__tolerance": "all", "errors__deadletterqueue__topic__name": "dead"}
    assert [one.place for one in s3("a", **letters)] == ["s3a://b/topics/a", "dead-letters:dead"]
    assert [one.is_owned for one in s3("a", **letters)] == [True, False]
    tables = places(connector__class="iceberg-sink", topics="a,b", iceberg__tables="n.a,n.b")
    assert [one.key for one in tables] == ["a>table:cat.n.a", "b>table:cat.n.b"]
    job = places(connector__class="job", job__name="supplier-stats", job__output__topic="out")
    assert [one.place for one in job] == ["topic:out"]


@pytest.mark.parametrize("topics", ["a", "a,b"])
def test_state_of_the_version_before_is_read(topics: str) -> None:
    values = {"connector.class": "s3-sink", "s3.bucket.name": "b", "topics": topics}
    document = {
        "name": "c",
        "config": values,
        "target": "PAUSED",
        "life": "1f",
        "offsets": [],
        "starts": {"a": {"0": 7}},
        "deleted": False,
    }
    old = decode("c.json", json.dumps(document).encode())
    assert isinstance(old, OldDefinition)
    found = adopted(old, old_names(parse("c", values, {}), s3(topics)))
    names = {"a": ["c"], "a,b": ["c.a", "c.b"]}[topics]
    assert [one.checkpoint for one in found.tasks.values()] == [f"c/1f/{name}" for name in names]
    assert next(iter(found.tasks.values())).starts == {0: 7}
    assert (found.target, found.config) == (State.PAUSED, values)
    assert decode("c.json", encode(found)) == found


def test_a_deleted_connector_of_the_version_before_loses_its_configuration() -> None:
    old = OldDefinition("c", {"connector.class": "s3-sink", "x": "secret"}, "1f", deleted=True)
    found = adopted(old, {"a>p": "c"})
    assert found.config == {}
    assert "secret" not in encode(found).decode()


@pytest.mark.parametrize("document", [b"", b"{", b"[]", b'{"name": 3}', b'{"name": "c"}'])
def test_what_cannot_be_read_is_refused_with_its_file(document: bytes) -> None:
    with pytest.raises(StateUnreadable, match=r"c\.json"):
        decode("c.json", document)


@given(NAMES)
def test_a_file_is_named_by_an_encoding_of_the_name(name: str) -> None:
    file = encoded(name)
    assert "/" not in file
    assert not file.startswith(".")
    assert len(file) < 200
    assert Path("/state", file).resolve().parent == Path("/state")


@given(NAMES, NAMES)
def test_different_names_have_different_files(one: str, other: str) -> None:
    assert (encoded(one) == encoded(other)) == (one == other)


def test_names_are_those_that_kafka_connect_takes() -> None:
    for good in ("orders", "../../x", "a b", "ü", "a/b"):
        check_name(good)
    for bad in ("", " ", ".", "..", "a\nb", "a\x7f", "\x1b[1m", " a"):
        with pytest.raises(BadConfig):
            check_name(bad)


def test_documents_are_for_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "connectors"
    folder.mkdir(parents=True)
    old = folder / "old.json"
    old.write_text("{}")
    old.chmod(0o644)
    store = LocalStore(folder)
    store.write("new.json", b"{}")
    for file in (old, folder / "new.json"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for place in (folder, folder.parent):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
    store.remove("new.json")
    assert store.read() == {"old.json": b"{}"}


def test_a_folder_is_locked_once(tmp_path: Path) -> None:
    held = FolderLock(tmp_path)
    with pytest.raises(StateInUse, match="pid"):
        FolderLock(tmp_path)
    held.release()
    FolderLock(tmp_path).release()


def test_beyond_loopback_a_key_is_needed(tmp_path: Path) -> None:
    check_exposure("127.0.0.1", None, is_open=False)
    check_exposure("0.0.0.0", None, is_open=True)
    check_exposure("0.0.0.0", KeyFile(tmp_path / "keys"), is_open=False)
    with pytest.raises(UsageError, match="without a key"):
        check_exposure("0.0.0.0", None, is_open=False)


async def _answers(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def client(app: Any, host: str = "localhost") -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{host}")


@pytest.mark.anyio
async def test_requests_need_a_key_with_the_right_scope(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys")
    reads, runs = keys.create("reader", ["read"]), keys.create("owner", ["admin"])
    app = guarded(_answers, keys, hosts=frozenset())
    async with client(app, "worker.example") as ask:
        table = [
            ("GET", "/connectors", {None: 401, "hw_x": 401, reads: 200, runs: 200}),
            ("POST", "/connectors", {None: 401, reads: 403, runs: 200}),
            ("PUT", "/connectors/x/pause", {None: 401, reads: 403, runs: 200}),
            ("DELETE", "/connectors/x", {None: 401, reads: 403, runs: 200}),
            ("PUT", "/connector-plugins/x/config/validate", {None: 401, reads: 200}),
        ]
        for method, path, wanted in table:
            for key, status in wanted.items():
                headers = {"authorization": f"Bearer {key}"} if key else {}
                assert (await ask.request(method, path, headers=headers)).status_code == status
        assert (await ask.get("/", auth=("any", runs))).status_code == 200
        assert (await ask.get("/", auth=("any", "no"))).status_code == 401
        keys.revoke("owner")
        assert (await ask.get("/", auth=("any", runs))).status_code == 401


@pytest.mark.anyio
async def test_pages_of_other_sites_reach_nothing_without_keys() -> None:
    app = guarded(_answers, None, hosts=frozenset())
    async with client(app) as ask:
        assert (await ask.get("/connectors")).status_code == 200
        assert (await ask.get("/connectors", headers={"host": "evil.example"})).status_code == 403
        text = {"content-type": "text/plain"}
        assert (await ask.post("/connectors", content="{}", headers=text)).status_code == 415
        foreign = {"origin": "http://evil.example"}
        assert (await ask.post("/connectors", json={}, headers=foreign)).status_code == 403
        assert (await ask.get("/connectors//x")).status_code == 400
