"""The kinds of batch work that an application may do: what each reads, writes and how it ends."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headwater
from capture.receiver import Receiver

Event = dict[str, Any]
Columns = dict[str, set[str]]
COPY = {"id": {"id"}, "v": {"v"}}
ALL = {"id": {"id", "v"}, "v": {"id", "v"}}


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="module")
def captured(
    spark: SparkSession, receiver: Receiver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Receiver]:
    spark.sql("CREATE TABLE kinds_a (id INT, v STRING) USING parquet")
    spark.sql("INSERT INTO kinds_a VALUES (1, 'x'), (2, 'y')")
    for name in ("kinds_t", "kinds_u"):
        spark.sql(f"CREATE TABLE {name} (id INT, v STRING) USING parquet")
    spool = str(tmp_path_factory.mktemp("spool"))
    capture = headwater.attach(spark, url=receiver.url, namespace="kinds", spool_dir=spool)
    yield receiver
    capture.detach()
    for name in ("kinds_a", "kinds_t", "kinds_u"):
        spark.sql(f"DROP TABLE {name}")


def writes(receiver: Receiver, output: str, count: int = 1) -> list[Event]:
    """The ends of the runs that wrote a dataset, by the end of its name; at least `count`."""

    def ends(_: Receiver) -> list[Event]:
        return [
            event
            for event in receiver.events
            if event["eventType"] in ("COMPLETE", "FAIL", "ABORT")
            and any(one["name"].endswith(output) for one in event["outputs"])
        ]

    receiver.wait_for(lambda r: len(ends(r)) >= count)
    return ends(receiver)


def inputs(event: Event) -> set[str]:
    return {one["name"].rpartition("/")[2] for one in event["inputs"]}


def direct(event: Event) -> Columns:
    """Each output column with the input columns whose values reach it."""
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    return {
        name: {
            entry["field"]
            for entry in field["inputFields"]
            if any(one["type"] == "DIRECT" for one in entry["transformations"])
        }
        for name, field in fields.items()
    }


def notes(event: Event) -> set[str]:
    facet = event["run"]["facets"].get("headwater_capture", {"notes": []})
    return {note["kind"] for note in facet["notes"]}


def new_session(spark: SparkSession, place: str) -> None:
    spark.newSession().table("kinds_a").write.parquet(place)


def local_directory(spark: SparkSession, place: str) -> None:
    spark.sql(f"INSERT OVERWRITE LOCAL DIRECTORY '{place}' USING parquet SELECT * FROM kinds_a")


def cached(spark: SparkSession, place: str) -> None:
    frame = spark.table("kinds_a").cache()
    frame.write.parquet(place)
    frame.unpersist()


def checkpoint_at_once(spark: SparkSession, place: str) -> None:
    spark.table("kinds_a").localCheckpoint().write.parquet(place)


def checkpoint_later(spark: SparkSession, place: str) -> None:
    spark.table("kinds_a").localCheckpoint(eager=False).write.parquet(place)


def checkpoint_of_a_checkpoint(spark: SparkSession, place: str) -> None:
    once = spark.table("kinds_a").localCheckpoint().selectExpr("id", "upper(v) AS v")
    once.localCheckpoint().write.parquet(place)


def by_rdd(spark: SparkSession, place: str) -> None:
    spark.createDataFrame(spark.table("kinds_a").rdd.map(lambda row: row)).write.parquet(place)


def by_pandas(spark: SparkSession, place: str) -> None:
    frame: Any = spark.table("kinds_a").toPandas()
    spark.createDataFrame(frame[frame["id"] > 1]).write.parquet(place)


def by_pandas_api(spark: SparkSession, place: str) -> None:
    spark.table("kinds_a").pandas_api().to_parquet(place)


@pytest.mark.filterwarnings("ignore:.*PYARROW_IGNORE_TIMEZONE:UserWarning")
@pytest.mark.filterwarnings("ignore:.*index_col:Warning")
@pytest.mark.parametrize(
    ("act", "columns", "noted"),
    [
        (new_session, COPY, set()),
        (local_directory, COPY, set()),
        (cached, COPY, set()),
        (checkpoint_at_once, COPY, set()),
        (checkpoint_later, COPY, set()),
        (checkpoint_of_a_checkpoint, COPY, set()),
        (by_rdd, ALL, {"opaque"}),
        (by_pandas, ALL, {"opaque"}),
        (by_pandas_api, COPY, set()),
    ],
)
def test_frames_are_followed_however_they_are_written(
    captured: Receiver,
    spark: SparkSession,
    tmp_path: Path,
    act: Callable[[SparkSession, str], None],
    columns: Columns,
    noted: set[str],
) -> None:
    place = tmp_path / act.__name__
    act(spark, str(place))
    (event,) = writes(captured, str(place))
    assert event["eventType"] == "COMPLETE"
    assert inputs(event) == {"kinds_a"}
    assert direct(event) == columns
    assert notes(event) == noted


def test_each_insert_of_one_statement_is_a_write(captured: Receiver, spark: SparkSession) -> None:
    spark.sql("FROM kinds_a INSERT INTO kinds_t SELECT * INSERT INTO kinds_u SELECT id, upper(v)")
    for table in ("kinds_t", "kinds_u"):
        (event,) = writes(captured, table)
        assert (event["eventType"], inputs(event)) == ("COMPLETE", {"kinds_a"})
        assert direct(event) == COPY
        assert event["job"]["name"].endswith(f"hadoop_fs_relation_command.default_{table}")


def test_folders_of_days_are_one_dataset(
    captured: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    for day in (1, 2):
        spark.table("kinds_a").write.parquet(f"{tmp_path}/raw/dt=2026-01-0{day}")
    first, second = writes(captured, "/raw", count=2)
    assert first["job"]["name"] == second["job"]["name"]
    condition = second["outputs"][0]["outputFacets"]["subset"]["outputCondition"]
    assert condition["locations"] == [f"{tmp_path}/raw/dt=2026-01-02"]
    spark.read.parquet(f"{tmp_path}/raw").write.parquet(f"{tmp_path}/whole")
    (whole,) = writes(captured, "/whole")
    assert [one["name"] for one in whole["inputs"]] == [f"{tmp_path}/raw"]
    days = [f"{tmp_path}/raw/dt=2026-01-0{day}" for day in (1, 2)]
    spark.read.parquet(*days).write.parquet(f"{tmp_path}/some")
    (some,) = writes(captured, "/some")
    (read,) = some["inputs"]
    assert read["name"] == f"{tmp_path}/raw"
    assert read["inputFacets"]["subset"]["inputCondition"]["locations"] == days


def test_a_query_by_jdbc_reads_its_tables(
    captured: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    url = f"jdbc:derby:{tmp_path}/db;create=true"
    spark.range(3).selectExpr("id", "id * 2 AS price", "7 AS land").write.jdbc(url, "orders")
    query = """SELECT "id", "price" * 2 AS "double" FROM orders WHERE "land" <> 424242"""
    for place, options in (("query", {"query": query}), ("sub", {"dbtable": f"({query}) x"})):
        frame = spark.read.format("jdbc").options(url=url, **options).load()
        frame.write.parquet(f"{tmp_path}/{place}")
        (event,) = writes(captured, f"{tmp_path}/{place}")
        assert [one["name"] for one in event["inputs"]] == ["orders"]
        assert direct(event) == {"id": {"id"}, "double": {"price"}}
        assert "schema" not in event["inputs"][0]["facets"]
        assert "424242" not in str(event)


def test_rdds_that_are_written_are_runs(
    captured: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "a.txt").write_text("a b\nc\n")
    words = spark.sparkContext.textFile(str(tmp_path / "words"))
    counts = words.map(lambda line: (line, 1)).reduceByKey(lambda a, b: a + b)
    counts.saveAsTextFile(str(tmp_path / "counts"))
    (event,) = writes(captured, f"{tmp_path}/counts")
    assert (event["eventType"], inputs(event)) == ("COMPLETE", {"words"})
    both = spark.table("kinds_a").rdd.map(str).union(words)
    both.saveAsPickleFile(str(tmp_path / "both"))
    (event,) = writes(captured, f"{tmp_path}/both")
    assert (event["eventType"], inputs(event)) == ("COMPLETE", {"kinds_a", "words"})


def test_an_rdd_that_cannot_be_written_fails_as_without_capture(
    captured: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    def burst(_: int) -> str:
        raise ValueError("no such thing")

    with pytest.raises(Exception, match="no such thing"):
        spark.sparkContext.parallelize([1]).map(burst).saveAsTextFile(str(tmp_path / "never"))
    (event,) = writes(captured, f"{tmp_path}/never")
    assert event["eventType"] == "FAIL"
