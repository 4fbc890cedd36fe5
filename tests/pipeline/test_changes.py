"""Ordinary changes of running connectors: each record is in the objects once, for every reader."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pipeline.plain import Plain, move, offsets, put, resume, sink, states, stop
from pipeline.process import WorkerProcess
from stack.platform import Platform, eventually

LIMIT_S = 150


@pytest.fixture(scope="module")
def worker(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("changes") / "state"
    worker = WorkerProcess(platform, folder)
    worker.start()
    yield worker
    worker.stop()


@pytest.fixture(scope="module")
def plain(platform: Platform) -> Plain:
    return Plain(platform)


def until_once(plain: Plain, *prefixes: str, ids: range) -> None:
    eventually(lambda: plain.once(*prefixes, ids=ids), LIMIT_S)


def test_a_topic_is_added_and_removed(worker: WorkerProcess, plain: Plain) -> None:
    for topic in ("add-a", "add-b"):
        plain.topic(topic)
    plain.send("add-a", range(100))
    put(worker, "adds", sink("add-a"))
    until_once(plain, "add-a/", ids=range(100))

    put(worker, "adds", sink("add-a,add-b"))
    plain.send("add-b", range(30))
    until_once(plain, "add-b/", ids=range(30))
    plain.send("add-a", range(100, 120))
    until_once(plain, "add-a/", ids=range(120))

    put(worker, "adds", sink("add-b"))
    plain.send("add-a", range(120, 130))
    plain.send("add-b", range(30, 40))
    until_once(plain, "add-b/", ids=range(40))
    put(worker, "adds", sink("add-b,add-a"))
    until_once(plain, "add-a/", ids=range(130))
    assert worker.ask("DELETE", "/connectors/adds").status_code == 204


def test_a_worker_loads_no_library_that_it_does_not_use(
    worker: WorkerProcess, plain: Plain
) -> None:
    plain.topic("light")
    plain.send("light", range(10))
    put(worker, "light", sink("light"))
    until_once(plain, "light/", ids=range(10))

    python, *_ = worker.processes()
    libraries = {"pandas", "pyarrow", "duckdb"}
    assert not {part for one in python.memory_maps() for part in Path(one.path).parts} & libraries
    assert worker.ask("DELETE", "/connectors/light").status_code == 204


def test_a_folder_has_one_owner_until_it_is_handed_over(
    worker: WorkerProcess, plain: Plain
) -> None:
    plain.topic("owned")
    plain.send("owned", range(40))
    put(worker, "first", sink("owned"))
    until_once(plain, "owned/", ids=range(40))

    refused = worker.ask("PUT", "/connectors/second/config", sink("owned"))
    assert refused.status_code == 400
    assert "first" in refused.json()["message"]
    assert "second" not in worker.get("/connectors")

    put(worker, "second", sink("owned", format__class="x.AvroFormat"), "?takeover=true")
    plain.send("owned", range(40, 60))
    until_once(plain, "owned/", ids=range(60))
    eventually(lambda: states(worker, "first") == ["STOPPED"], LIMIT_S)
    assert worker.ask("PUT", "/connectors/first/resume").status_code == 409

    assert worker.ask("DELETE", "/connectors/second").status_code == 204
    resume(worker, "first")
    plain.send("owned", range(60, 70))
    until_once(plain, "owned/", ids=range(70))
    assert worker.ask("DELETE", "/connectors/first").status_code == 204


def test_a_folder_that_moves_gets_what_is_new(worker: WorkerProcess, plain: Plain) -> None:
    plain.topic("moved")
    plain.send("moved", range(50))
    put(worker, "moves", sink("moved"))
    until_once(plain, "moved/", ids=range(50))
    put(worker, "moves", sink("moved", topics__dir="elsewhere"))
    for start in range(50, 120, 5):
        plain.send("moved", range(start, start + 5))
    until_once(plain, "moved/", "elsewhere/moved/", ids=range(120))
    assert plain.rows("elsewhere/moved/").keys() >= set(range(50, 120))
    put(worker, "moves", sink("moved"))
    plain.send("moved", range(120, 130))
    until_once(plain, "moved/", "elsewhere/moved/", ids=range(130))
    assert worker.ask("DELETE", "/connectors/moves").status_code == 204


def test_offsets_of_one_partition_are_moved(worker: WorkerProcess, plain: Plain) -> None:
    plain.topic("moving", partitions=2)
    plain.send("moving", range(50), 0)
    plain.send("moving", range(50, 70), 1, b"{no record")
    letters = {"errors__tolerance": "all", "errors__deadletterqueue__topic__name": "moving-dead"}
    put(worker, "moving", sink("moving", flush__size="7", **letters))
    until_once(plain, "moving/", ids=range(70))
    eventually(lambda: offsets(worker, "moving") == {("moving", 0): 50, ("moving", 1): 21}, LIMIT_S)
    assert move(worker, "moving", "moving", {0: 10}).status_code == 400

    stop(worker, "moving")
    moved = move(worker, "moving", "moving", {0: 10})
    assert moved.status_code == 200, moved.text
    found = offsets(worker, "moving")
    assert found["moving", 0] <= 10
    assert found["moving", 1] == 21
    assert move(worker, "moving", "other", {0: 10}).status_code == 400
    assert move(worker, "moving", "moving", {7: 10}).status_code == 400
    resume(worker, "moving")
    plain.send("moving", range(70, 80), 0)
    until_once(plain, "moving/", ids=range(80))
    assert worker.ask("DELETE", "/connectors/moving").status_code == 204


def test_a_connector_that_says_stopped_has_stopped_also_right_after_the_worker_s_start(
    worker: WorkerProcess, plain: Plain
) -> None:
    plain.topic("early")
    plain.send("early", range(10))
    put(worker, "early", sink("early"))
    until_once(plain, "early/", ids=range(10))
    eventually(lambda: offsets(worker, "early") == {("early", 0): 10}, LIMIT_S)
    for _ in range(2):  # while its queries start, and when it was stopped before
        worker.kill()
        worker.start()
        stop(worker, "early")
        moved = move(worker, "early", "early", {0: 5})
        assert moved.status_code == 200, moved.text
    resume(worker, "early")
    plain.send("early", range(10, 20))
    until_once(plain, "early/", ids=range(20))
    assert worker.ask("DELETE", "/connectors/early").status_code == 204


def test_every_format_and_partitioner_is_read_again_without_a_trace(
    worker: WorkerProcess, plain: Plain
) -> None:
    made = [
        (kind, partitioner)
        for kind in ("Json", "Avro", "Parquet")
        for partitioner in ("Default", "Field", "Daily")
    ]
    names = [f"{kind}-{partitioner}".lower() for kind, partitioner in made]

    def configured(name: str, flush: str) -> dict[str, str]:
        kind, partitioner = name.split("-")
        more = {
            "format__class": f"{kind.title()}Format",
            "partitioner__class": f"{partitioner.title()}Partitioner",
            "partition__field__name": "day",
            "flush__size": flush,
        }
        return sink("formats", topics__dir=name, **more)

    plain.topic("formats", partitions=2)
    plain.send("formats", range(20), 0)
    plain.send("formats", range(20, 40), 1)
    for name in names:
        put(worker, name, configured(name, "6"))
    for name in names:
        until_once(plain, f"{name}/", ids=range(40))
        stop(worker, name)
    assert "json-default/formats/partition=0/formats+0+0000000000.json" in plain.keys("json-")
    plain.send("formats", range(40, 45), 1)
    for name in names:
        assert worker.ask("DELETE", f"/connectors/{name}/offsets").status_code == 200
        put(worker, name, configured(name, "9"))
        resume(worker, name)
    for name in names:
        until_once(plain, f"{name}/", ids=range(45))
        assert worker.ask("DELETE", f"/connectors/{name}?purge").status_code == 204
    eventually(lambda: not plain.keys(".headwater/"), LIMIT_S)


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "...", "a b/c%2F", "ü" * 120])
def test_a_name_is_never_a_path(worker: WorkerProcess, name: str) -> None:
    root = worker.folder.parent
    before = {path for path in _below(root) if worker.folder not in path.parents}
    body = {"name": name, "config": sink("nowhere"), "initial_state": "STOPPED"}
    made = worker.ask("POST", "/connectors", body)
    assert made.status_code == 201, made.text
    assert name in worker.get("/connectors")
    after = {path for path in _below(root) if worker.folder not in path.parents}
    assert before == after
    path = "".join(f"%{byte:02X}" for byte in name.encode())
    assert worker.get(f"/connectors/{path}/status")["name"] == name
    assert worker.ask("DELETE", f"/connectors/{path}?purge").status_code == 204


@pytest.mark.parametrize("name", ["", " ", "..", "a\nb", "a\0b", "\x1b[31m"])
def test_control_characters_are_no_name(worker: WorkerProcess, name: str) -> None:
    made = worker.ask("POST", "/connectors", {"name": name, "config": sink("t")})
    assert made.status_code == 400


def test_what_is_kept_is_private_and_deleting_forgets_it(
    worker: WorkerProcess, plain: Plain
) -> None:
    plain.topic("secretive")
    plain.send("secretive", range(5))
    secret = "open-sesame-4711"
    config = sink("secretive", value__converter__basic__auth__user__info=f"u:{secret}")
    put(worker, "secretive", config)
    until_once(plain, "secretive/", ids=range(5))
    assert _files_with(worker.folder, secret)
    for path in (worker.folder, *_below(worker.folder)):
        with suppress(FileNotFoundError):
            mode = path.stat().st_mode
            assert stat.S_IMODE(mode) == (0o700 if stat.S_ISDIR(mode) else 0o600), path

    assert worker.ask("DELETE", "/connectors/secretive").status_code == 204
    assert not _files_with(worker.folder, secret)
    put(worker, "secretive", config)
    plain.send("secretive", range(5, 8))
    until_once(plain, "secretive/", ids=range(8))
    checkpoints = worker.folder / "checkpoints" / "secretive"
    assert checkpoints.exists()
    assert worker.ask("DELETE", "/connectors/secretive?purge").status_code == 204
    eventually(lambda: not checkpoints.exists(), LIMIT_S)


def test_a_worker_on_this_machine_listens_on_loopback_only(worker: WorkerProcess) -> None:
    found = [
        connection.laddr.ip
        for process in worker.processes()
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert found
    assert {ip for ip in found if ip not in ("127.0.0.1", "::1", "::ffff:127.0.0.1")} == set()


def test_a_state_is_used_by_one_worker_only(worker: WorkerProcess, platform: Platform) -> None:
    other = WorkerProcess(platform, worker.folder)
    ended = other.run_to_its_end()
    assert ended.returncode == 1
    assert "another worker uses the state" in ended.stderr
    assert worker.get("/connectors") is not None


def test_the_worker_ends_with_its_jvm_and_goes_on_when_started_again(
    worker: WorkerProcess, plain: Plain
) -> None:
    plain.topic("killed")
    plain.send("killed", range(20))
    put(worker, "killed", sink("killed"))
    until_once(plain, "killed/", ids=range(20))
    java = [one for one in worker.processes() if "java" in one.name()]
    assert java
    for process in java:
        process.kill()
    assert worker.ended() != 0
    plain.send("killed", range(20, 40))
    worker.start()
    until_once(plain, "killed/", ids=range(40))
    assert worker.ask("DELETE", "/connectors/killed").status_code == 204


def _below(folder: Path) -> list[Path]:
    """All files and folders below one, in which a running worker may remove some meanwhile."""
    return [Path(at, name) for at, *names in os.walk(folder) for name in (*names[0], *names[1])]


def _files_with(folder: Path, text: str) -> list[Path]:
    found = []
    for path in _below(folder):
        with suppress(FileNotFoundError):
            if path.is_file() and text.encode() in path.read_bytes():
                found.append(path)
    return found
