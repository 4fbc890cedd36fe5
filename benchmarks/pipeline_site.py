"""The platform and the worker that the pipeline's benchmark runs on."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
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
    """A platform in a folder of its own, with one worker on all cores."""

    def __init__(self, home: Path, *, connect: bool) -> None:
        self.home, self._with = home, ("--with", "connect") if connect else ()
        self.environ = {**os.environ, "HEADWATER_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
        self.environ.pop("OPENLINEAGE_URL", None)

    def __enter__(self) -> "Site":
        only = "kafka,registry,s3,metastore"
        self._headwater("up", "--detach", "--free-ports", "--only", only, *self._with)
        self.variables = environment(running(self.home))
        self.bootstrap = self.variables["KAFKA_BOOTSTRAP_SERVERS"]
        self.catalog = load_catalog("hive", **self._catalog())
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        self.worker = Connect(f"http://127.0.0.1:{port}")
        options = ["--port", str(port), "--state", str(self.home / "state")]
        submit = "--driver-memory 2g pyspark-shell"
        with (self.home / "worker.log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command("worker", *options),
                env={**self.environ, "PYSPARK_SUBMIT_ARGS": submit},
                stdout=log,
                stderr=log,
            )
        patiently(self._answers)
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._headwater("down")

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
        top = psutil.Process(self._process.pid)
        return megabytes([top, *top.children(recursive=True)])

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


def megabytes(processes: list[psutil.Process]) -> float:
    """What processes hold in memory."""
    return sum(one.memory_info().rss for one in processes if one.is_running()) / 2**20


def patiently(holds: Callable[[], object], limit_s: float = 240) -> None:
    """Wait until something holds."""
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.1)
