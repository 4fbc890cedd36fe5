"""Records that make a job fail, and those behind them."""

from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

import headwater
from headwater.capture.classic import Capture
from headwater.cli.why_not import write_outcome
from headwater.pipeline import kafka
from headwater.pipeline.failures import without_frames
from headwater.pipeline.flows import PipelineContext
from headwater.pipeline.hosting import Task
from headwater.pipeline.jobs.catalog import job
from headwater.trace.shapes import Record
from headwater.trace.why_not import Outcome, why_not
from pipeline.tracing import Traced, orders, send, send_bytes
from stack.platform import eventually

_TOPIC, _CATALOG = "stuck-orders", "stuck"
_TABLE = f"{_CATALOG}.default.orders"


@pytest.fixture(scope="module")
def stuck(traced: Traced, tmp_path_factory: pytest.TempPathFactory) -> tuple[Traced, Record]:
    """A job that has written five orders, and fails at the record after them."""
    folder, spark = tmp_path_factory.mktemp("stuck"), traced.spark
    prefix = f"spark.sql.catalog.{_CATALOG}"
    spark.conf.set(f"{prefix}.type", "hadoop")
    spark.conf.set(f"{prefix}.warehouse", str(folder / "warehouse"))
    spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    settings = msgspec.structs.replace(
        traced.settings, catalog=_CATALOG, input_topic=_TOPIC, tolerant=False
    )
    kafka.ensure_topics(settings.bootstrap, [_TOPIC])
    capture = headwater.attach(
        spark, url=traced.server.url, namespace="stuck", spool_dir=str(folder / "spool")
    )
    assert isinstance(capture, Capture)
    try:
        poisoned = _run(traced._replace(settings=settings), folder)
    finally:
        capture.detach()
    return traced._replace(settings=settings), poisoned


def _run(traced: Traced, folder: Path) -> Record:
    flow = job("iceberg-ingestion").flow(PipelineContext(traced.spark, traced.settings))
    task = Task(flow, str(folder / "checkpoint"))
    send(traced.spark, traced.settings, orders(0, 5))
    try:
        task.start()
        eventually(lambda: _count(traced, task) == 5)
        poisoned = send_bytes(traced.settings, b"no order")
        send(traced.spark, traced.settings, orders(5, 1))
        eventually(lambda: _fails(task) and _is_reported(traced))
    finally:
        task.stop()
    return Record(_TOPIC, *poisoned)


def _count(traced: Traced, task: Task) -> int:
    task.poll()
    is_there = traced.spark.catalog.tableExists(_TABLE)
    return traced.spark.table(_TABLE).count() if is_there else 0


def _fails(task: Task) -> bool:
    task.poll()
    return "cannot be decoded" in (task.trace or "")


def _is_reported(traced: Traced) -> bool:
    told = traced.client.ask("namespaces/stuck/jobs/iceberg-ingestion/runs")
    return any(run["state"] == "FAILED" for run in told["runs"])


def _ask(traced: Traced, record: Record) -> Outcome:
    return why_not(traced.spark, traced.client, traced.settings, _TABLE, record)


def test_a_record_that_makes_the_job_fail_names_the_run_and_its_error(
    stuck: tuple[Traced, Record], capsys: pytest.CaptureFixture[str]
) -> None:
    traced, record = stuck
    told = _ask(traced, record)
    assert (told.outcome, told.job) == ("failing", "iceberg-ingestion")
    assert "it has read up to offset 4" in told.reason
    run = traced.client.ask(f"jobs/runs/{told.run_id}")
    assert run["state"] == "FAILED"
    assert f"cannot be decoded at topic {_TOPIC}, partition 0, offset 5" in str(told.error)
    write_outcome(told)
    text = capsys.readouterr().out
    assert "has not got past the record" in text
    assert f"failed    iceberg-ingestion, run {told.run_id}" in text


def test_a_record_behind_one_that_makes_the_job_fail_tells_why_it_waits(
    stuck: tuple[Traced, Record],
) -> None:
    traced, record = stuck
    told = _ask(traced, Record(_TOPIC, 0, record.offset + 1))
    assert (told.outcome, told.job) == ("not read", "iceberg-ingestion")
    assert "iceberg-ingestion is FAILED; iceberg-ingestion has not got past" in told.reason
    assert "offset 5" in str(told.error)
    assert _ask(traced, Record(_TOPIC, 0, 1)).outcome == "written"


def test_an_interrupted_batch_is_told_in_a_text_that_spark_can_match(spark: SparkSession) -> None:
    """Spark's own pattern overflows the stack of a thread on the frames of a usual error."""
    frame = "\tat org.apache.hadoop.fs.s3a.S3AUtils.translateException(S3AUtils.java:468)\n"
    head = "An error occurred while calling o8.save.\n: java.lang.IllegalStateException: no\n"
    cause = "Caused by: java.io.InterruptedIOException: getFileStatus\n"
    told = without_frames(f"{head}{frame * 500}{cause}{frame}")
    assert told.startswith(head + cause)
    assert len(told.partition("py4j.protocol")[2]) < 200
    streaming = spark._jvm.org.apache.spark.sql.execution.streaming  # type: ignore[union-attr]
    pattern = streaming.runtime.StreamExecution.PROXY_ERROR()
    assert pattern.findFirstIn(f"RuntimeError: {told}").isDefined()
