"""The platform and the worker that the pipeline's benchmark runs on."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import KafkaException
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError

from headwater.cli.connect import Connect, traces
from headwater.errors import WorkerRefused
from headwater.pipeline.kafka import end_offsets
from headwater.stack import environment, running

RATE = 1000
CONNECTORS = Path(__file__).parents[1] / "connectors"


class Site:
    """A platform in a folder of its own, and one worker at a time, on all cores."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environ = {**os.environ, "HEADWATER_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
        for name in ("OPENLINEAGE_URL", "PYSPARK_SUBMIT_ARGS"):
            self.environ.pop(name, None)
        self._workers = 0

    def __enter__(self) -> "Site":
        only = "kafka,registry,s3,metastore"
        self._headwater("up", "--detach", "--free-ports", "--only", only)
        self.variables = environment(running(self.home))
        self.bootstrap = self.variables["KAFKA_BOOTSTRAP_SERVERS"]
        self.catalog = load_catalog("hive", **self._catalog())
        return self

    def __exit__(self, *_error: object) -> None:
        self._headwater("down")

    @contextmanager
    def fresh_worker(self, *submit: str) -> Iterator["Site"]:
        """A worker without connectors, with its own defaults or other options of spark-submit."""
        self._workers += 1
        port, state = free_port(), self.home / f"state{self._workers}"
        self.worker = Connect(f"http://127.0.0.1:{port}")
        options = ["--port", str(port), "--state", str(state)]
        given = {"PYSPARK_SUBMIT_ARGS": f"{' '.join(submit)} pyspark-shell"} if submit else {}
        with (self.home / "worker.log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command("worker", *options),
                env={**self.environ, **given},
                stdout=log,
                stderr=log,
            )
        try:
            patiently(self._answers)
            yield self
        finally:
            ended(self._process)

    def config(self, name: str, topic: str = "orders") -> dict[str, str]:
        """A connector of the lab, on a topic and a table of another name."""
        text = (CONNECTORS / f"{name}.json").read_text()
        text = text.replace("default.orders", f"default.{topic}").replace('"orders"', f'"{topic}"')
        text = text.replace("genv.orders.", f"genv.{topic}.")
        found: dict[str, str] = json.loads(text)["config"]
        return found

    def count(self, topic: str) -> int:
        """How many records a topic has."""
        try:
            return sum(end_offsets(self.bootstrap, topic).values())
        except (KafkaException, KeyError):
            return 0

    def position(self, name: str) -> int:
        """How many records a connector has behind it; a failed one ends the benchmark."""
        try:
            failed = traces(self.worker.status(name))
            found = self.worker.position(name)
        except WorkerRefused:
            return 0
        assert not failed, failed
        return found

    def visible(self, table: str) -> int:
        """How many rows a reader of a table sees."""
        try:
            snapshot = self.catalog.load_table(table).current_snapshot()
        except NoSuchTableError:
            return 0
        return int(snapshot.summary["total-records"]) if snapshot and snapshot.summary else 0

    def memory(self) -> float:
        """Megabytes of the worker and its JVM."""
        return megabytes(self._process.pid)

    def _answers(self) -> bool:
        assert self._process.poll() is None, (self.home / "worker.log").read_text()[-3000:]
        try:
            return bool(self.worker.ask("GET", "/"))
        except WorkerRefused:
            return False

    def _catalog(self) -> dict[str, Any]:
        return {
            "type": "hive",
            "uri": self.variables["HIVE_METASTORE_URI"],
            "s3.endpoint": self.variables["AWS_ENDPOINT_URL"],
            "s3.access-key-id": self.variables["AWS_ACCESS_KEY_ID"],
            "s3.secret-access-key": self.variables["AWS_SECRET_ACCESS_KEY"],
            "s3.region": self.variables["AWS_REGION"],
        }

    def _headwater(self, *arguments: str) -> None:
        subprocess.run(self._command(*arguments), env=self.environ, check=True)

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "headwater.cli.main", *arguments]


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def ended(process: "subprocess.Popen[Any]") -> None:
    """End a process that was started here."""
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def megabytes(pid: int) -> float:
    """What a process and its children hold in memory."""
    top = psutil.Process(pid)
    return sum(_rss(one) for one in (top, *top.children(recursive=True))) / 2**20


def _rss(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def patiently(holds: Callable[[], object], limit_s: float = 240) -> None:
    """Wait until something holds."""
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.1)
