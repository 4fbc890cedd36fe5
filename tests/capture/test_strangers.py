"""Applications that others wrote, unchanged, under `headwater run`: Spark's own examples."""

import socketserver
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from signal import SIGTERM
from typing import Any

import pyspark
import pytest
from confluent_kafka import Producer

from capture.jars import prepare_spark
from capture.processes import running
from capture.receiver import Receiver
from capture.waiting import until
from stack.platform import Platform

EXAMPLES = Path(pyspark.__file__).parent / "examples/src/main/python/sql/streaming"
LINE = b"owl cat dog owl"
SMALL = (
    "--master local[1] --driver-memory 700m --conf spark.ui.enabled=false"
    " --conf spark.sql.shuffle.partitions=1 --conf spark.driver.host=127.0.0.1 pyspark-shell"
)


class Words(socketserver.BaseRequestHandler):
    """What `nc -lk` is for the examples: lines of words, until nobody reads them."""

    def handle(self) -> None:
        while not self.server.ended.wait(0.5):  # type: ignore[attr-defined]
            try:
                self.request.sendall(LINE + b"\n")
            except OSError:
                return


@pytest.fixture
def words() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Words) as server:
        server.daemon_threads = True
        server.ended = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.ended.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[str]:
    """A Kafka that has ever more lines of words in its topic `words`."""
    platform = Platform(tmp_path / "platform")
    platform.up("--only", "kafka")
    ended = threading.Event()
    try:
        servers = platform.variables()["KAFKA_BOOTSTRAP_SERVERS"]
        producer = Producer({"bootstrap.servers": servers})
        _say(producer)
        thread = threading.Thread(target=lambda: _say_until(ended, producer))
        thread.start()
        yield servers
        ended.set()
        thread.join()
    finally:
        ended.set()
        platform.run("down")


def _say_until(ended: threading.Event, producer: Producer) -> None:
    while not ended.wait(0.5):
        _say(producer)


def _say(producer: Producer) -> None:
    producer.produce("words", LINE)
    assert producer.flush(30) == 0


@pytest.mark.parametrize(
    ("example", "arguments"),
    [
        ("structured_network_wordcount.py", ()),
        ("structured_network_wordcount_windowed.py", ("10", "5")),
    ],
)
def test_example_runs_as_before_and_is_observed(
    tmp_path: Path, receiver: Receiver, words: int, example: str, arguments: tuple[str, ...]
) -> None:
    prepare_spark()
    query = observe(tmp_path, receiver, SMALL, example, "127.0.0.1", str(words), *arguments)
    assert not any(event["inputs"] for event in told_of(receiver, query))


def test_example_that_reads_kafka_is_observed_with_its_topic(
    tmp_path: Path, receiver: Receiver, brokers: str
) -> None:
    conf = f"--jars {prepare_spark()} {SMALL}"
    example = ("structured_kafka_wordcount.py", brokers, "subscribe", "words")
    query = observe(tmp_path, receiver, conf, *example)
    inputs = [event["inputs"] for event in told_of(receiver, query) if event["inputs"]]
    (topic,) = inputs[-1]
    assert (topic["namespace"], topic["name"]) == (f"kafka://{brokers}", "words")


def observe(home: Path, receiver: Receiver, conf: str, example: str, *arguments: str) -> str:
    """Run an example until it has told of rows, end it, and give the name of its query's job."""
    more = {
        "PYSPARK_SUBMIT_ARGS": conf,
        "HEADWATER_HEARTBEAT_SECONDS": "1",
        "HEADWATER_SPOOL_DIR": str(home / "spool"),
    }
    headwater = (sys.executable, "-m", "headwater.cli.main", "run", str(EXAMPLES / example))
    with running(home, receiver.url, *headwater, *arguments, **more) as app:
        until(lambda: _rows(receiver) or app.over(), 240, app.text)
        app.signal(SIGTERM)
        assert app.exit_code() == -SIGTERM, app.text()
    assert "Batch: 0" in (home / "log").read_text(errors="replace")
    jobs = {str(event["job"]["name"]) for event in receiver.events}
    (query,) = [name for name in jobs if "." in name]
    assert receiver.types(query) == ["START", "RUNNING", "ABORT"]
    assert receiver.types(query.partition(".")[0]) == ["START", "RUNNING", "ABORT"]
    return query


def told_of(receiver: Receiver, job: str) -> list[dict[str, Any]]:
    return [event for event in receiver.events if event["job"]["name"] == job]


def _rows(receiver: Receiver) -> int:
    """The rows that the newest heartbeat tells of."""
    found = [event["run"]["facets"].get("headwater_progress") for event in receiver.events]
    return max((int(progress["rows"]) for progress in found if progress), default=0)
