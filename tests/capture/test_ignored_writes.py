"""A write that finds something in its place and writes nothing is no write."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headwater
from capture.receiver import Receiver

Write = Callable[[SparkSession, str], object]
WRITES: dict[str, Write] = {
    "files": lambda spark, place: spark.table("ignored_a").write.mode("ignore").parquet(place),
    "table": lambda spark, _: (
        spark.table("ignored_a").write.mode("ignore").saveAsTable("ignored_t")
    ),
    "CTAS": lambda spark, _: spark.sql(
        "CREATE TABLE IF NOT EXISTS ignored_u USING parquet AS SELECT id, v FROM ignored_a"
    ),
    "Iceberg": lambda spark, _: spark.sql(
        "CREATE TABLE IF NOT EXISTS ice.kinds.ignored USING iceberg AS SELECT id, v FROM ignored_a"
    ),
    "Iceberg table": lambda spark, _: (
        spark.table("ignored_a").write.format("iceberg").mode("ignore").saveAsTable("ice.kinds.two")
    ),
}
TABLES = ("ignored_a", "ignored_t", "ignored_u", "ice.kinds.ignored", "ice.kinds.two")


@pytest.fixture
def captured(spark: SparkSession, receiver: Receiver, tmp_path: Path) -> Iterator[Receiver]:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.kinds")
    spark.range(3).selectExpr("id", "id * 2 as v").write.saveAsTable("ignored_a")
    spool = str(tmp_path / "spool")
    capture = headwater.attach(spark, url=receiver.url, namespace="ignored", spool_dir=spool)
    yield receiver
    capture.detach()
    for name in TABLES:
        spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_only_a_write_that_writes_is_reported(
    captured: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    reported: dict[str, list[int]] = {}
    for words, write in WRITES.items():
        place, counts = str(tmp_path / "place"), []
        for time in ("first", "second"):
            before = len(_writes(captured))
            write(spark, place)
            marker = f"marker_{[*WRITES].index(words)}_{time}"
            spark.range(1).write.parquet(str(tmp_path / marker))
            captured.wait_for(lambda _, m=marker: any(m in one for one in _writes(captured)))  # type: ignore[misc]
            counts.append(len(_writes(captured)) - before - 1)
        reported[words] = counts
    assert reported == {words: [1, 0] for words in WRITES}


def _writes(receiver: Receiver) -> list[str]:
    return [
        event["job"]["name"]
        for event in receiver.events
        if event["eventType"] == "COMPLETE" and "parent" in event["run"]["facets"]
    ]
