"""The kinds of batch work that an application may do: what each reads, writes and how it ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headwater
from capture.kinds import TABLE, Check, Event, runs
from capture.receiver import Receiver
from capture.ways_to_write import COLUMNS, KINDS, Out, prepare

A = {"kinds_a": "a"}


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="module")
def captured(
    spark: SparkSession, receiver: Receiver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Receiver]:
    prepare(spark)
    for name in ("kinds_t", "kinds_u"):
        spark.sql(f"CREATE TABLE {name} {COLUMNS} USING parquet")
    spool = str(tmp_path_factory.mktemp("spool"))
    capture = headwater.attach(spark, url=receiver.url, namespace="kinds", spool_dir=spool)
    yield receiver
    capture.detach()
    spark.sql("DROP VIEW kinds_view")
    for name in ("kinds_a", "kinds_t", "kinds_u", "ice.kinds.b"):
        spark.sql(f"DROP TABLE {name}")


def writes(receiver: Receiver, output: str, count: int = 1) -> list[list[Event]]:
    """The events of the runs that wrote a dataset, by the end of its name; at least `count`."""
    receiver.wait_for(lambda _: len(runs([*receiver.events], output)) >= count)
    return runs([*receiver.events], output)


@pytest.mark.filterwarnings("ignore:.*PYARROW_IGNORE_TIMEZONE:UserWarning")
@pytest.mark.filterwarnings("ignore:.*index_col:Warning")
@pytest.mark.parametrize("words", KINDS)
def test_kind_is_reported_as_its_row_says(
    captured: Receiver, spark: SparkSession, tmp_path: Path, kind: Check, words: str
) -> None:
    out = Out(f"out_{[*KINDS].index(words)}", tmp_path)
    KINDS[words](spark, out)
    (run,) = writes(captured, out.name)
    kind(words, run, **A, **{out.name: "out"})
    spark.sql(f"DROP TABLE IF EXISTS {out.name}")
    spark.sql(f"DROP TABLE IF EXISTS {out.ice}")


def test_each_insert_of_one_statement_is_a_write(
    captured: Receiver, spark: SparkSession, kind: Check
) -> None:
    spark.sql("FROM kinds_a INSERT INTO kinds_t SELECT * INSERT INTO kinds_u SELECT id, upper(v)")
    rows = {
        "kinds_t": "SQL: `FROM … INSERT …`, the first insert",
        "kinds_u": "SQL: `FROM … INSERT …`, the second insert",
    }
    for table, words in rows.items():
        (run,) = writes(captured, table)
        kind(words, run, **A, **{table: "out"})
        assert run[-1]["job"]["name"].endswith(f"hadoop_fs_relation_command.default_{table}")


def test_folders_of_days_are_one_dataset(
    captured: Receiver, spark: SparkSession, tmp_path: Path, kind: Check
) -> None:
    for day in (1, 2):
        spark.table("kinds_a").write.parquet(f"{tmp_path}/raw/dt=2026-01-0{day}")
    first, second = (run[-1] for run in writes(captured, "/raw", count=2))
    assert first["job"]["name"] == second["job"]["name"]
    condition = second["outputs"][0]["outputFacets"]["subset"]["outputCondition"]
    assert condition["locations"] == [f"{tmp_path}/raw/dt=2026-01-02"]
    spark.read.parquet(f"{tmp_path}/raw").write.parquet(f"{tmp_path}/whole")
    (whole,) = writes(captured, "/whole")
    assert [one["name"] for one in whole[-1]["inputs"]] == [f"{tmp_path}/raw"]
    days = [f"{tmp_path}/raw/dt=2026-01-0{day}" for day in (1, 2)]
    spark.read.parquet(*days).write.parquet(f"{tmp_path}/some")
    (some,) = writes(captured, "/some")
    (read,) = some[-1]["inputs"]
    assert read["name"] == f"{tmp_path}/raw"
    assert read["inputFacets"]["subset"]["inputCondition"]["locations"] == days
    kind("Files in folders of days (`raw/dt=…`)", some, some="out")


def test_rdds_in_folders_of_days_are_one_job_that_writes_one_dataset(
    captured: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    places = ("dt=2026-01-01", "dt=2026-01-02", "2026/01/03", "20260104T0500Z")
    for place in places:
        spark.table("kinds_a").rdd.map(str).saveAsTextFile(f"{tmp_path}/txt/{place}")
    jobs = {run[-1]["job"]["name"] for run in writes(captured, "/txt", count=len(places))}
    assert len(jobs) == 1
    assert all("2026" not in name for name in jobs)


def test_a_query_by_jdbc_reads_its_tables(
    captured: Receiver, spark: SparkSession, tmp_path: Path, kind: Check
) -> None:
    url = f"jdbc:derby:{tmp_path}/db;create=true"
    spark.range(3).selectExpr("id", "id * 2 AS price", "7 AS land").write.jdbc(url, "orders")
    query = """SELECT "id", "price" * 2 AS "double" FROM orders WHERE "land" <> 424242"""
    rows = {
        "A table by JDBC": {"dbtable": "orders"},
        "A query by JDBC": {"query": query},
        "A subquery by JDBC": {"dbtable": f"({query}) x"},
    }
    for words, options in rows.items():
        place = words.partition(" by")[0].replace(" ", "_")
        spark.read.format("jdbc").options(url=url, **options).load().write.parquet(
            f"{tmp_path}/{place}"
        )
        (run,) = writes(captured, f"{tmp_path}/{place}")
        kind(words, run, **{place: "out"})
        assert "424242" not in str(run)
        if place != "A_table":
            assert "schema" not in run[-1]["inputs"][0]["facets"]


def test_reads_alone_are_no_jobs(captured: Receiver, spark: SparkSession, kind: Check) -> None:
    before = {event["run"]["runId"] for event in captured.events}
    spark.table("kinds_a").count()
    spark.table("kinds_a").collect()
    spark.table("kinds_a").write.format("noop").mode("append").save()
    spark.table("kinds_a").write.saveAsTable("kinds_read")
    writes(captured, "kinds_read")
    spark.sql("DROP TABLE kinds_read")
    later = [e for e in captured.events if e["run"]["runId"] not in before]
    others = [e for e in later if "kinds_read" not in str(e["outputs"] or e["job"]["name"])]
    kind("`count()`, `collect()`, format `noop`", others)


def test_every_row_is_tested() -> None:
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    untested = [
        words for words in TABLE.rows() if words not in KINDS and f'"{words}"' not in sources
    ]
    assert not untested
