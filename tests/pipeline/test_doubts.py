"""What makes a plan give other rows when it is evaluated again is found in the plan."""

import random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.trace import catalyst

_SURE = (
    "id + 1", "upper(name)", "concat(name, '-', id)", "CAST(id AS STRING)", "CAST(at AS BIGINT)",
    "sum(id) OVER (PARTITION BY name)", "coalesce(name, 'x')", "CAST(name AS INT)",
)  # fmt: skip
_IN_DOUBT = (
    "rand()", "uuid()", "shuffle(array(id))", "reflect('java.util.UUID', 'randomUUID')",
    "input_file_name()", "spark_partition_id()", "monotonically_increasing_id()", "current_user()",
    "current_database()", "current_timestamp()", "current_date()", "now()", "first(id) OVER ()",
    "row_number() OVER (ORDER BY id)", "collect_list(id) OVER ()", "collect_set(id) OVER ()",
    "max_by(id, name) OVER ()", "min_by(id, name) OVER ()", "odd(id)", "unsure(id)",
)  # fmt: skip
_OF_TIMES = (
    "to_date(at)", "CAST(at AS STRING)", "CAST(at AS DATE)", "CAST('2026-03-01' AS TIMESTAMP)",
    "hour(at)", "date_format(at, 'HH')", "date_trunc('DAY', at)", "to_timestamp(name)",
    "from_unixtime(id)", "unix_timestamp(name)", "CAST(day AS TIMESTAMP)",
    "make_timestamp(2026, 3, 1, 0, 0, 0)", "at > '2026-03-01 00:00:00'", "to_json(struct(at))",
    "from_json(name, 'at timestamp')", "CAST(array(at) AS ARRAY<STRING>)",
    "at", "day > TIMESTAMP'2026-03-01 00:00:00'", "current_timezone()",
    "(SELECT max(i) FROM VALUES (CAST('2026-03-01' AS TIMESTAMP)) AS v(i))",
)  # fmt: skip
_OF_NO_TIME = (
    "id + 1", "day", "CAST(day AS STRING)", "date_add(day, 1)", "CAST(id AS DECIMAL(10,2))",
    "CAST(name AS DATE)", "upper(name)", "sum(id) OVER (PARTITION BY name)",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _records(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = str(tmp_path_factory.mktemp("doubted") / "rows")
    row = "id bigint, name string, at timestamp, day date"
    spark.createDataFrame([], row).write.parquet(place)
    spark.read.schema(row).parquet(place).createOrReplaceTempView("doubted")
    sometimes = F.udf(lambda _: random.random() < 0.5, "boolean")
    spark.udf.register("odd", F.udf(lambda one: one % 2 == 1, "boolean"))
    spark.udf.register("unsure", sometimes.asNondeterministic())


@pytest.mark.parametrize("expression", _IN_DOUBT)
def test_plans_that_give_other_rows_again_are_doubted(spark: SparkSession, expression: str) -> None:
    plan = catalyst.analyzed(spark.sql(f"SELECT {expression} AS found FROM doubted"))
    assert catalyst.doubts(plan)


@pytest.mark.parametrize("expression", _SURE)
def test_plans_that_give_the_same_rows_again_are_not(spark: SparkSession, expression: str) -> None:
    plan = catalyst.analyzed(spark.sql(f"SELECT {expression} AS found FROM doubted"))
    assert not catalyst.doubts(plan)


@pytest.mark.parametrize("expression", _OF_TIMES)
def test_what_may_depend_on_the_time_zone_is_found(spark: SparkSession, expression: str) -> None:
    plan = catalyst.analyzed(spark.sql(f"SELECT {expression} AS found FROM doubted"))
    assert catalyst.uses_times(plan)


@pytest.mark.parametrize("expression", _OF_NO_TIME)
def test_what_does_not_depend_on_it_is_not(spark: SparkSession, expression: str) -> None:
    plan = catalyst.analyzed(spark.sql(f"SELECT {expression} AS found FROM doubted"))
    assert not catalyst.uses_times(plan)
