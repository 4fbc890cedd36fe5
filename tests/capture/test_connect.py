"""Spark Connect: a server in the client's process, one that is captured, and a client alone."""

import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.connect.proto import Command

from capture.kinds import Check, runs
from capture.processes import APPS, python, running
from capture.receiver import Receiver
from capture.waiting import until
from headwater.capture.connect.commands import batch_of, stream_of
from headwater.cli.submit import conf_options
from ports import free_port

CONNECT = {
    "Spark Connect in one process: `df.write` to files": "/totals",
    "Spark Connect in one process: `localCheckpoint()`": "/cut",
    "Spark Connect in one process: `INSERT INTO`": "/doubled",
    "Spark Connect in one process: a write that fails": "/failed",
    "Spark Connect in one process: streaming query": "/through",
    "Spark Connect in one process: streaming query that fails": "/broken",
}


Told = dict[str, tuple[list[str], Any, Any]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("twins") / "home"


@pytest.fixture(scope="module")
def connect(home: Path, kind: Check) -> Told:
    return _twin(home, kind, *python("twins.py", "connect", str(free_port())))


# What capture sees must not depend on which of its threads comes too late: each is held up at each
# call into the JVM. A classic session has no thread that reads what the JVM's listeners saw.
@pytest.mark.parametrize(
    ("session", "thread", "seconds"),
    [("classic", "plans", 0.05), ("classic", "capture", 0.02), ("connect", "jvm", 0.1)],
)
def test_classic_and_connect_have_the_same_lineage(
    home: Path, kind: Check, connect: Told, session: str, thread: str, seconds: float
) -> None:
    twin = (str(APPS / "twins.py"), session, str(free_port()))
    told = _twin(home, kind, *python("slow.py", str(seconds), thread, *twin))
    assert told == connect
    assert {one[0][-1] for one in told.values()} == {"COMPLETE", "FAIL", "ABORT"}
    doubled = told["through"][2][0]
    assert (
        doubled["facets"]["columnLineage"]["fields"]["price"]["inputFields"][0]["field"] == "price"
    )


def _twin(home: Path, kind: Check, *command: str) -> Told:
    """What one of the twins tells; both have the same home, one after the other."""
    receiver = Receiver()
    home.mkdir()
    with running(home, receiver.url, *command) as app:
        assert app.exit_code() == 0, app.text()
    assert "capture failed" not in (home / "log").read_text()
    shutil.rmtree(home)
    for words, output in CONNECT.items():
        kind(words, runs(receiver.events, output)[-1])
    told = {name: _told(receiver, name) for name in _jobs(receiver)}
    receiver.close()
    return told


def _jobs(receiver: Receiver) -> set[str]:
    return {str(event["job"]["name"]) for event in receiver.events}


def _told(receiver: Receiver, job: str) -> tuple[list[str], Any, Any]:
    """The states of a job, and what it read and wrote at last, apart from versions and sizes."""
    types = [one for one in receiver.types(job) if one != "RUNNING"]
    last = _last(receiver, job)
    for dataset in (*last["inputs"], *last["outputs"]):
        dataset.pop("outputFacets", None)
        dataset["facets"].pop("version", None)
    return types, last["inputs"], last["outputs"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Receiver]]:
    """A captured server of Spark Connect, and what it tells."""
    home, receiver, port = tmp_path_factory.mktemp("server"), Receiver(), free_port()
    conf = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.memory": "700m",
    }
    main_class = "org.apache.spark.sql.connect.service.SparkConnectServer"
    options = ("--master", "local[2]", *conf_options(conf), "--class", main_class)
    command = (sys.executable, "-m", "headwater.cli.main", "submit", *options)
    with running(home, receiver.url, *command) as app:
        until(lambda: _listens(port) or app.over(), 240, app.text)
        yield f"sc://127.0.0.1:{port}", receiver
        app.signal(signal.SIGTERM)
        assert app.exit_code() == -signal.SIGTERM, app.text()
    receiver.close()


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(
    ("how", "code", "last"), [("end", 0, "COMPLETE"), ("stop", 0, "COMPLETE"), ("raise", 1, "FAIL")]
)
def test_client_is_told_of_from_its_beginning_to_its_end(
    tmp_path: Path,
    receiver: Receiver,
    server: tuple[str, Receiver],
    kind: Check,
    how: str,
    code: int,
    last: str,
) -> None:
    more = {"HEADWATER_HEARTBEAT_SECONDS": "1"}
    address, inside = server
    with running(tmp_path, receiver.url, *python("connect.py", how, address), **more) as app:
        app.wait_until_ready()
        receiver.wait_for(lambda found: _rows(found, "left") == 1)
        app.go()
        assert app.exit_code() == code, app.text()
    assert "Spark Connect session" in (tmp_path / "log").read_text()
    tail = f"{tmp_path.name}_totals"
    assert receiver.types(f"client.write.{tail}") == [
        "START", "RUNNING", "COMPLETE", "START", "RUNNING", "FAIL",
    ]  # fmt: skip
    wrote = _last(receiver, f"client.write.{tail}")
    assert [one["name"] for one in wrote["inputs"]] == [str(tmp_path / "in")]
    assert [one["name"] for one in wrote["outputs"]] == [str(tmp_path / "totals")]
    assert "PATH_ALREADY_EXISTS" in wrote["run"]["facets"]["errorMessage"]["message"]
    first, _ = runs(receiver.events, f"{tmp_path.name}/totals")
    kind("Spark Connect, client of another server: `df.write`", first)
    through = runs(receiver.events, f"{tmp_path.name}/through")
    kind("Spark Connect, client of another server: streaming query", *through)
    assert receiver.types("through") == ["START", "RUNNING", "COMPLETE"]
    assert receiver.types("broken") == ["START", "RUNNING", "FAIL"]
    broken = _last(receiver, "broken")["run"]["facets"]["errorMessage"]["message"]
    assert "no more of this" in broken
    assert receiver.types("stopped") == ["START", "RUNNING", "ABORT"]
    assert receiver.types("left") == ["START", "RUNNING", "ABORT"]
    assert receiver.types("client") == ["START", "RUNNING", last]
    # The server tells more of the same work: its columns.
    name = f"execute_insert_into_hadoop_fs_relation_command.{tail}"
    inside.wait_for(lambda found: any(job.endswith(name) for job in _jobs(found)))
    job = next(job for job in _jobs(inside) if job.endswith(name))
    # Each client is an application inside the server.
    above = _last(inside, job)["run"]["facets"]["parent"]["job"]["name"]
    assert job.startswith(f"{above}.")
    if how == "stop":  # otherwise the server keeps the session for an hour
        run = _last(inside, job)["run"]["facets"]["parent"]["run"]["runId"]
        inside.wait_for(lambda found: _types(found, run) == ["START", "COMPLETE"])
    ended = [e for e in inside.events if e["job"]["name"] == job and e["eventType"] == "COMPLETE"]
    columns = ended[-1]["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert "price" in {one["field"] for one in columns["sum(price)"]["inputFields"]}
    first, *_ = runs(inside.events, f"{tmp_path.name}/totals")
    kind("Spark Connect, server under `headwater submit`: `df.write`", first)
    inside.wait_for(lambda found: bool(runs(found.events, f"{tmp_path.name}/cut")))
    cut, *_ = runs(inside.events, f"{tmp_path.name}/cut")
    kind("Spark Connect, server under `headwater submit`: `localCheckpoint()`", cut)
    through = runs(inside.events, f"{tmp_path.name}/through")
    kind("Spark Connect, server under `headwater submit`: streaming query", *through)


def _types(receiver: Receiver, run: str) -> list[str]:
    return [str(e["eventType"]) for e in [*receiver.events] if e["run"]["runId"] == run]


def _last(receiver: Receiver, job: str) -> dict[str, Any]:
    return [event for event in receiver.events if event["job"]["name"] == job][-1]


def _rows(receiver: Receiver, job: str) -> int:
    told = [event for event in list(receiver.events) if event["job"]["name"] == job]
    return max(
        (e["run"]["facets"].get("headwater_progress", {}).get("rows", 0) for e in told), default=0
    )


def test_topics_and_tables_are_read_from_commands() -> None:
    command = Command()
    write = command.write_stream_operation_start
    write.options["kafka.bootstrap.servers"] = "broker:9092"
    write.options["topic"] = "totals"
    joined = write.input.filter.input.join
    topic = joined.left.read.data_source
    topic.format = "kafka"
    topic.options["kafka.bootstrap.servers"] = "broker:9092"
    topic.options["subscribe"] = "orders,returns"
    joined.right.read.named_table.unparsed_identifier = "db.suppliers"
    found = stream_of(command)
    assert found is not None
    assert [one.key for one in found.inputs] == [
        ("kafka://broker:9092", "orders"), ("kafka://broker:9092", "returns"),
    ]  # fmt: skip
    assert [one.key for one in found.outputs] == [("kafka://broker:9092", "totals")]
    assert found.tables == ("db.suppliers",)
    assert batch_of(command) is None
