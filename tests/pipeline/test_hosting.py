"""Queries that take the place of one that ends: each has to wait until the other has let go."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headwater.capture.spark.streams import NEW_SCHEMA
from headwater.pipeline.flows import Flow, Start
from headwater.pipeline.hosting import Task
from headwater.pipeline.states import State
from stack.platform import eventually

_ROUNDS = 40


@pytest.fixture
def impatient(spark: SparkSession) -> Iterator[SparkSession]:
    """A session in which the stop of a query that is in a batch passes its timeout."""
    before = spark.conf.get("spark.sql.streaming.stopTimeout")
    spark.conf.set("spark.sql.streaming.stopTimeout", "1ms")
    yield spark
    spark.conf.set("spark.sql.streaming.stopTimeout", str(before))


def test_a_query_whose_stop_passed_its_timeout_can_be_started_again_at_once(
    impatient: SparkSession, tmp_path: Path
) -> None:
    def slow(_batch: DataFrame, _number: int) -> None:
        time.sleep(0.05)

    task = Task(Flow("impatient", _flow(impatient, slow)), str(tmp_path / "checkpoint"))
    for _ in range(_ROUNDS):
        task.start()
        assert task.state is State.RUNNING, task.trace
        eventually(lambda: bool(task.query and task.query.status["isTriggerActive"]), 60)
        eventually(task.stop, 60)


def test_a_query_that_met_a_new_schema_is_built_again_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    met = iter(range(_ROUNDS))

    def meets(_batch: DataFrame, _number: int) -> None:
        number = next(met, None)
        if number is not None:
            raise ValueError(f"{NEW_SCHEMA}{number} at topic t, partition 0, offset 0")

    flow = Flow("curious", _flow(spark, meets), knows=lambda _schema_id: True)
    task = Task(flow, str(tmp_path / "checkpoint"))

    def has_learnt_all() -> bool:
        task.poll()
        assert task.state is not State.FAILED, task.trace
        return len(task.ids.learnt) == _ROUNDS

    try:
        eventually(has_learnt_all, 120)
    finally:
        assert task.stop()


def _flow(
    spark: SparkSession, write: Callable[[DataFrame, int], None]
) -> Callable[[Start], StreamingQuery]:
    def start(start: Start) -> StreamingQuery:
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "1").load()
        writer = rows.writeStream.foreachBatch(write).queryName(write.__name__)
        return writer.option("checkpointLocation", start.checkpoint).start()

    return start
