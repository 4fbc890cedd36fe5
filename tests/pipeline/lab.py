"""Connectors and topics of one test."""

import hashlib
import json
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from headwater.pipeline.config import parse
from headwater.pipeline.flows import PipelineContext
from headwater.pipeline.hosting import Task, make_tasks
from headwater.pipeline.journal import Journal
from headwater.pipeline.kafka import end_offsets
from headwater.pipeline.settings import Settings
from headwater.pipeline.targets import Target
from stack.platform import eventually

CONNECTORS = Path(__file__).parents[2] / "connectors"


def shipped(name: str) -> dict[str, str]:
    return dict(json.loads((CONNECTORS / f"{name}.json").read_text())["config"])


class TaskGroup:
    """A connector's tasks, without a worker."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = tasks

    def stop(self) -> None:
        for task in self.tasks:
            task.stop()


class Lab:
    """Hosts connectors in this process, without a worker."""

    def __init__(self, spark: SparkSession, settings: Settings, folder: Path) -> None:
        self.spark, self.settings, self.folder = spark, settings, folder
        self.hosted: list[TaskGroup] = []

    def start(self, name: str, config: dict[str, str]) -> TaskGroup:
        context = PipelineContext(self.spark, self.settings, seed=name + uuid.uuid4().hex)
        parsed = parse(name, config, self.settings.environ)
        tasks = make_tasks(
            parsed,
            context,
            lambda target: self.checkpoint(name, target),
            lambda _target: None,
            Journal(),
        )
        one = TaskGroup([task for task in tasks if isinstance(task, Task)])
        self.hosted.append(one)
        for task in one.tasks:
            task.start()
        return one

    def checkpoint(self, name: str, target: Target) -> str:
        digest = hashlib.sha256(f"{name} {target.key}".encode()).hexdigest()
        return str(self.folder / digest)

    def wait(self, holds: Any, limit_s: float = 180) -> None:
        """Wait until something holds, with the connectors looked after meanwhile."""

        def check() -> bool:
            for one in self.hosted:
                for task in one.tasks:
                    task.poll()
            failed = [task.trace for one in self.hosted for task in one.tasks if task.trace]
            assert not failed, failed
            return bool(holds())

        eventually(check, limit_s)

    def produce(self, topic: str, values: list[bytes]) -> None:
        producer = Producer({"bootstrap.servers": self.settings.bootstrap})
        for value in values:
            producer.produce(topic, value)
        assert producer.flush(60) == 0

    def count(self, topic: str) -> int:
        try:
            return sum(end_offsets(self.settings.bootstrap, topic).values())
        except KafkaException:  # no one has made it yet
            return 0

    def archived(self, place: str) -> int:
        """How many records a place of JSON files holds; none before the first file is there."""
        try:
            return self.spark.read.json(place).count()
        except AnalysisException:
            return 0

    def settled(self, topic: str) -> int:
        """How many records there are once no more come: a batch cut off may be sending still."""
        before, count = -1, self.count(topic)
        while count != before:
            time.sleep(3)
            before, count = count, self.count(topic)
        return count

    def values(self, topic: str) -> set[bytes]:
        """What a topic holds, as bytes."""
        if not self.count(topic):
            return set()
        reader = self.spark.read.format("kafka").option("subscribe", topic)
        records = reader.option("kafka.bootstrap.servers", self.settings.bootstrap).load()
        return {bytes(row.value) for row in records.select("value").collect()}

    def table(self, name: str) -> DataFrame:
        self.spark.catalog.refreshTable(name)
        return self.spark.table(name)

    def close(self) -> None:
        for one in self.hosted:
            one.stop()
