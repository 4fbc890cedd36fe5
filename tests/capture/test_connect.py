"""A client of Spark Connect: life cycle, progress, files and topics, without the server's plans."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.connect.proto import Command

from capture.processes import python, running
from capture.receiver import Receiver
from headwater.capture.connect.commands import batch_of, stream_of


@pytest.mark.parametrize(
    ("how", "code", "last"), [("end", 0, "COMPLETE"), ("stop", 0, "COMPLETE"), ("raise", 1, "FAIL")]
)
def test_client_is_told_of_from_its_beginning_to_its_end(
    tmp_path: Path, receiver: Receiver, how: str, code: int, last: str
) -> None:
    more = {"HEADWATER_HEARTBEAT_SECONDS": "1"}
    with running(tmp_path, receiver.url, *python("connect.py", how), **more) as app:
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
    assert receiver.types("through") == ["START", "RUNNING", "COMPLETE"]
    assert receiver.types("broken") == ["START", "RUNNING", "FAIL"]
    broken = _last(receiver, "broken")["run"]["facets"]["errorMessage"]["message"]
    assert "no more of this" in broken
    assert receiver.types("stopped") == ["START", "RUNNING", "ABORT"]
    assert receiver.types("left") == ["START", "RUNNING", "ABORT"]
    assert receiver.types("client") == ["START", "RUNNING", last]


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
