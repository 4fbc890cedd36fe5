"""Every way a driver can end, with real processes: which events arrive, and that it ends so."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from capture.processes import python, running
from capture.receiver import Receiver

LIVED = ["START", "RUNNING"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def last(receiver: Receiver, job: str) -> dict[str, Any]:
    return [event for event in receiver.events if event["job"]["name"] == job][-1]


def reason(receiver: Receiver, job: str) -> str:
    return str(last(receiver, job)["run"]["facets"]["errorMessage"]["message"])


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 1)]
)
def test_signal_aborts_the_query_and_the_application(
    tmp_path: Path, receiver: Receiver, number: signal.Signals, code: int
) -> None:
    with running(tmp_path, receiver, *python("live.py", "wait")) as app:
        app.wait_until_ready()
        app.wait_for_lineage("live")
        app.signal(number)
        assert app.exit_code() == code or number is signal.SIGINT, app.text()
    assert receiver.types("live") == [*LIVED, "ABORT"]
    assert receiver.types("test_app")[-1] == "ABORT"
    assert last(receiver, "live")["outputs"][0]["name"] == str(tmp_path / "out")
    assert number.name in reason(receiver, "test_app")


@pytest.mark.parametrize(
    ("how", "code", "application"),
    [
        ("raise", 1, "FAIL"),
        ("exit", 3, "COMPLETE"),
        ("end", 0, "COMPLETE"),
        ("spark.stop", 0, "COMPLETE"),
    ],
)
def test_end_of_the_driver_aborts_its_queries(
    tmp_path: Path, receiver: Receiver, how: str, code: int, application: str
) -> None:
    with running(tmp_path, receiver, *python("live.py", how)) as app:
        app.wait_until_ready()
        app.wait_for_lineage("live")
        app.go()
        assert app.exit_code() == code, app.text()
    assert receiver.types("live") == [*LIVED, "ABORT"]
    assert receiver.types("test_app")[-1] == application
    if how == "raise":
        assert reason(receiver, "test_app") == "ValueError: no more of this"


def test_dead_jvm_fails_its_queries(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path, receiver, *python("live.py", "kill the jvm")) as app:
        app.wait_until_ready()
        app.wait_for_lineage("live")
        app.go()
        app.exit_code()
    assert receiver.types("live") == [*LIVED, "FAIL"]
    assert "JVM ended with code -9" in reason(receiver, "live")
    assert receiver.types("test_app")[-1] == "FAIL"


def test_killed_driver_leaves_a_lease_and_nothing_after(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path, receiver, *python("live.py", "wait")) as app:
        app.wait_until_ready()
        app.wait_for_lineage("live")
        app.signal(signal.SIGKILL)
        assert app.exit_code() == -signal.SIGKILL
    assert receiver.types("live") == LIVED
    assert last(receiver, "live")["run"]["facets"]["headwater_lease"]["seconds"] == 60


@pytest.mark.parametrize(
    ("how", "write", "application"),
    [
        ("end", "COMPLETE", "COMPLETE"),
        ("raise", "COMPLETE", "FAIL"),
        ("analysis", None, "FAIL"),
        ("udf", "FAIL", "FAIL"),
    ],
)
def test_batch_writes_and_their_application(
    tmp_path: Path, receiver: Receiver, how: str, write: str | None, application: str
) -> None:
    with running(tmp_path, receiver, *python("batch.py", how)) as app:
        code = app.exit_code()
        assert code == (0 if how == "end" else 1), app.text()
    job = f"test_app.execute_insert_into_hadoop_fs_relation_command.{tmp_path.name}_out"
    expected = [] if write is None else ["START", write]
    assert receiver.types(job) == expected
    assert receiver.types("test_app")[-1] == application
    if how == "udf":
        assert "ZeroDivisionError" in str(last(receiver, job)["run"]["facets"]["errorMessage"])


def test_signal_while_a_batch_driver_waits_aborts_it(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path, receiver, *python("batch.py", "wait")) as app:
        app.wait_until_ready()
        app.wait_for_lineage(
            f"test_app.execute_insert_into_hadoop_fs_relation_command.{tmp_path.name}_out"
        )
        app.signal(signal.SIGTERM)
        assert app.exit_code() == -signal.SIGTERM
    assert receiver.types("test_app")[-1] == "ABORT"
