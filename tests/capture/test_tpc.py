"""TPC-H through the oracle; with `--tpc tpcds`, those of TPC-DS's queries that Spark reads."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from capture.benchmark_queries import load, read_tables
from capture.oracle import Tally, judge
from capture.queries import analyzed
from headwater.capture.plan import PlanLineage, analyze

SCALES = {"tpch": 0.003, "tpcds": 0.003}
READABLE = {"tpch": 22, "tpcds": 99}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("name", metafunc.config.getoption("--tpc").split(","))


@pytest.mark.timeout(7200)
def test_no_edge_is_missed(spark: SparkSession, name: str, report: Path) -> None:
    # The queries quote identifiers as the SQL standard does.
    spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    benchmark = load(name, SCALES[name], spark)
    tally = Tally()
    for number, sql in benchmark.queries.items():
        lineage = _lineage(spark, sql)
        if lineage is not None:
            verdict = judge(benchmark.db, sql, read_tables(benchmark, sql), lineage)
            tally.add(f"query {number}", verdict)
    benchmark.db.close()
    spark.catalog.setCurrentDatabase("default")
    spark.conf.unset("spark.sql.ansi.doubleQuotedIdentifiers")
    tally.write(report, name)
    assert not tally.missed, "\n".join(tally.missed)
    assert tally.queries >= READABLE[name]


def _lineage(spark: SparkSession, sql: str) -> PlanLineage | None:
    try:
        return analyze(analyzed(spark.sql(sql)))
    except PySparkException:
        return None  # DuckDB's dialect
