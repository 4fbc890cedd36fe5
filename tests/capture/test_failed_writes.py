"""A write that fails is one run of the job that it is when it succeeds, wherever it fails."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headwater
from capture.receiver import Receiver

Event = dict[str, Any]
Write = Callable[[SparkSession, DataFrame, str, str], object]  # a frame, a name, a folder


@pytest.fixture(scope="module")
def captured(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    receiver = Receiver()
    spark.sql("CREATE TABLE fails_a (id INT, v STRING) USING parquet")
    spark.sql("INSERT INTO fails_a VALUES (1, 'x')")
    spark.sql("CREATE TABLE ice.fails.t (id INT) USING iceberg")
    spark.sql("INSERT INTO ice.fails.t VALUES (1)")
    spool = str(tmp_path_factory.mktemp("spool"))
    capture = headwater.attach(spark, url=receiver.url, namespace="fails", spool_dir=spool)
    yield receiver
    capture.detach()
    receiver.close()
    for table in ("fails_a", "ice.fails.t"):
        spark.sql(f"DROP TABLE {table}")


def sql(text: str, before: str = "SELECT 1") -> Write:
    def write(spark: SparkSession, frame: DataFrame, name: str, folder: str) -> None:
        spark.sql(before.format(name=name).replace("TABLE", "TABLE IF NOT EXISTS"))
        frame.createOrReplaceTempView("fails_view")
        spark.sql(text.format(name=name, folder=folder, query="SELECT * FROM fails_view"))

    return write


WRITES: dict[str, Write] = {
    "files": lambda _s, frame, _n, folder: frame.write.mode("overwrite").parquet(folder),
    "saveAsTable": lambda _s, frame, name, _f: frame.write.saveAsTable(name),
    "CTAS": sql("CREATE TABLE {name} USING parquet AS {query}"),
    "CTAS elsewhere": sql(
        "CREATE TABLE {name} USING parquet LOCATION '{folder}/dt=2026-01-01' AS {query}"
    ),
    "insert": sql("INSERT INTO {name} {query}", "CREATE TABLE {name} (e STRING) USING parquet"),
    "Iceberg append": sql(
        "INSERT INTO ice.fails.{name} {query}",
        "CREATE TABLE ice.fails.{name} (e STRING) USING iceberg",
    ),
    "Iceberg create": lambda _s, frame, name, _f: (
        frame.writeTo(f"ice.fails.{name}").using("iceberg").create()
    ),
    "Iceberg CTAS": sql("CREATE TABLE ice.fails.{name} USING iceberg AS {query}"),
    "Iceberg replace": sql("CREATE OR REPLACE TABLE ice.fails.{name} USING iceberg AS {query}"),
}


def while_running(spark: SparkSession) -> DataFrame:
    return spark.table("fails_a").selectExpr("cast(raise_error(v) AS STRING) AS e")


def while_creating(spark: SparkSession) -> DataFrame:
    """Iceberg has no type for this column."""
    return spark.table("fails_a").selectExpr("raise_error(v) AS e")


def while_planning(spark: SparkSession) -> DataFrame:
    last = spark.table("ice.fails.t.snapshots").select(F.max("snapshot_id")).first()
    assert last is not None
    options = {"start-snapshot-id": str(last[0])}
    frame = spark.read.format("iceberg").options(**options).load("ice.fails.t")
    return frame.selectExpr("cast(id AS STRING) AS e")


@pytest.mark.parametrize("fails", [while_running, while_creating, while_planning])
@pytest.mark.parametrize("how", WRITES)
def test_a_write_that_fails_is_one_run_of_its_job(
    captured: Receiver,
    spark: SparkSession,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    how: str,
    fails: Callable[[SparkSession], DataFrame],
) -> None:
    name = f"fails_{[*WRITES].index(how)}_{fails.__name__}"
    folder, broken = str(tmp_path / name), fails(spark)
    with caplog.at_level(logging.WARNING, "headwater"):
        with pytest.raises((PySparkException, Py4JJavaError)) as raised:
            WRITES[how](spark, broken, name, folder)
        whole = spark.table("fails_a").selectExpr("v AS e")
        WRITES[how](spark, whole, name, folder)
        captured.wait_for(lambda _: "COMPLETE" in ends(captured, name))
    assert not caplog.records
    assert ends(captured, name) == ["FAIL", "COMPLETE"]
    failed, done = lasts(captured, name)
    assert failed["job"] == done["job"]
    assert keys(failed["outputs"]) <= names(done["outputs"])
    reason = failed["run"]["facets"]["errorMessage"]["message"]
    assert reason.split("\n")[0][:40] in str(raised.value)
    for table in (name, f"ice.fails.{name}"):
        spark.sql(f"DROP TABLE IF EXISTS {table}")


def test_a_table_that_cannot_be_made_is_one_run_of_its_job(
    captured: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    name = "fails_occupied"
    folder, whole = tmp_path / name, spark.table("fails_a").selectExpr("v AS e")
    place = folder / "dt=2026-01-01"
    place.mkdir(parents=True)
    (place / "something").touch()
    with pytest.raises(PySparkException):
        WRITES["CTAS elsewhere"](spark, whole, name, str(folder))
    (place / "something").unlink()
    WRITES["CTAS elsewhere"](spark, whole, name, str(folder))
    captured.wait_for(lambda _: "COMPLETE" in ends(captured, name))
    failed, done = lasts(captured, name)
    assert failed["job"] == done["job"]
    assert keys(failed["outputs"]) == keys(done["outputs"])
    spark.sql(f"DROP TABLE {name}")


def keys(datasets: list[Event]) -> set[tuple[str, str]]:
    return {(one["namespace"], one["name"]) for one in datasets}


def names(datasets: list[Event]) -> set[tuple[str, str]]:
    """What a server knows datasets by, and what they were called before they were there."""
    symlinks = [s for d in datasets for s in d["facets"].get("symlinks", NONE)["identifiers"]]
    return keys(datasets) | keys(symlinks)


NONE: dict[str, list[Event]] = {"identifiers": []}


def lasts(receiver: Receiver, name: str) -> list[Event]:
    """The last events of the runs that are over of whatever has to do with a name."""
    return [
        event
        for event in [*receiver.events]
        if event["eventType"] in ("COMPLETE", "FAIL", "ABORT")
        and (name in event["job"]["name"] or name in str(event["outputs"]))
    ]


def ends(receiver: Receiver, name: str) -> list[str]:
    return [event["eventType"] for event in lasts(receiver, name)]
