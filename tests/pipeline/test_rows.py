"""Answers of `headwater why --records` for plans of any kind, judged by an oracle."""

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headwater.trace.derivation import CHECKED, Derivation, Source
from pipeline.random_pipelines import IDS
from pipeline.row_oracle import RowOracle


@pytest.fixture(scope="module")
def oracle(spark: SparkSession) -> Iterator[RowOracle]:
    found = RowOracle(spark)
    yield found
    found.close()


def test_records_of_random_rows_are_those_whose_removal_changes_them(oracle: RowOracle) -> None:
    judged = [one for seed in range(8) for one in oracle.judge(seed, most=2)]
    assert [one for one in judged if one.fault] == []
    assert any(one.exact for one in judged)


def test_a_group_of_many_is_exact_where_the_row_counts_them(spark: SparkSession) -> None:
    """Too many to remove each: the row itself tells how many there were."""
    many = CHECKED * 3
    numbers = spark.range(many).select(
        F.lit("t").alias("topic"), F.lit(0).alias("partition"), F.col("id").alias("offset"),
        (F.col("id") % 2).alias("k"),
    )  # fmt: skip
    held = numbers.localCheckpoint()
    source = Source("t", held, IDS)
    counted = held.groupBy("k").agg(F.count(F.lit(1)).alias("n"), F.max("offset").alias("last"))
    found = Derivation(spark, counted, lambda _leaf: source).of(Row(k=0, n=many // 2, last=190))
    assert (found.exact, len(found.rows["t"])) == (True, many // 2)
    largest = held.groupBy("k").agg(F.max("offset").alias("last"))
    found = Derivation(spark, largest, lambda _leaf: source).of(Row(k=0, last=190))
    assert (found.exact, found.complete, len(found.rows["t"])) == (False, True, many // 2)


def test_a_common_table_expression_is_followed_in_each_use(spark: SparkSession) -> None:
    rows = [("t", 0, n, "ab"[n % 2]) for n in range(4)]
    held = spark.createDataFrame(rows, "topic string, partition int, offset long, k string")
    held = held.localCheckpoint()
    text = "WITH a AS (SELECT k, offset FROM {held}) SELECT * FROM a UNION ALL SELECT k, -1 FROM a"
    union = spark.sql(text, held=held)
    found = Derivation(spark, union, lambda _leaf: Source("t", held, IDS)).of(Row(k="a", offset=2))
    assert (found.exact, [row["offset"] for row in found.rows["t"]]) == (True, [2])


def test_a_source_that_the_optimizer_leaves_out_has_no_row_that_counts(
    spark: SparkSession,
) -> None:
    one, two = (_held(spark, name) for name in ("one", "two"))
    union = one.selectExpr("'one' AS src", "k").unionAll(two.selectExpr("'two' AS src", "k"))
    sources = iter((Source("one", one, IDS), Source("two", two, IDS)))
    found = Derivation(spark, union, lambda _leaf: next(sources)).of(Row(src="one", k="b"))
    assert (found.exact, [row["offset"] for row in found.rows["one"]]) == (True, [1])


def test_a_plan_that_tells_too_little_is_not_exact(spark: SparkSession) -> None:
    held = _held(spark, "t")
    table = spark.createDataFrame([], "k string, more int").schema
    derivation = Derivation(spark, held.select("k"), lambda _leaf: Source("t", held, IDS))
    found = derivation.of(Row(k="b", more=7), table)
    assert (found.exact, found.complete) == (False, True)
    found = Derivation(spark, held.select("k"), lambda _leaf: None).of(Row(k="b"))
    assert (found.exact, found.complete, found.rows) == (False, False, {})


def _held(spark: SparkSession, topic: str) -> DataFrame:
    rows = [(topic, 0, n, "ab"[n]) for n in range(2)]
    held = spark.createDataFrame(rows, "topic string, partition int, offset long, k string")
    return held.localCheckpoint()
