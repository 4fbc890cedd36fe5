"""Applications that others wrote, unchanged, under `headwater run`: Spark's own examples."""

import socketserver
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from signal import SIGTERM

import pyspark
import pytest

from capture.jars import prepare_spark
from capture.processes import running
from capture.receiver import Receiver
from capture.waiting import until

EXAMPLES = Path(pyspark.__file__).parent / "examples/src/main/python/sql/streaming"
SMALL = (
    "--master local[1] --driver-memory 700m --conf spark.ui.enabled=false"
    " --conf spark.sql.shuffle.partitions=1 --conf spark.driver.host=127.0.0.1 pyspark-shell"
)


class Words(socketserver.BaseRequestHandler):
    """What `nc -lk` is for the examples: lines of words, until nobody reads them."""

    def handle(self) -> None:
        while not self.server.ended.wait(0.5):  # type: ignore[attr-defined]
            try:
                self.request.sendall(b"owl cat dog owl\n")
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
    headwater = (sys.executable, "-m", "headwater.cli.main", "run", str(EXAMPLES / example))
    more = {
        "PYSPARK_SUBMIT_ARGS": SMALL,
        "HEADWATER_HEARTBEAT_SECONDS": "1",
        "HEADWATER_SPOOL_DIR": str(tmp_path / "spool"),
    }
    command = (*headwater, "127.0.0.1", str(words), *arguments)
    with running(tmp_path, receiver.url, *command, **more) as app:
        until(lambda: _rows(receiver) or app.over(), 240, app.text)
        app.signal(SIGTERM)
        assert app.exit_code() == -SIGTERM, app.text()
        printed = (tmp_path / "log").read_text(errors="replace")
    assert "Batch: 0" in printed
    jobs = {event["job"]["name"] for event in receiver.events}
    (query,) = [name for name in jobs if "." in name]
    assert receiver.types(query) == ["START", "RUNNING", "ABORT"]
    application = query.partition(".")[0]
    assert receiver.types(application) == ["START", "RUNNING", "ABORT"]


def _rows(receiver: Receiver) -> int:
    """The rows that the newest heartbeat tells of."""
    found = [event["run"]["facets"].get("headwater_progress") for event in receiver.events]
    return max((int(progress["rows"]) for progress in found if progress), default=0)
