"""TPC-H and a sample of TPC-DS through the oracle; `make oracle` takes all of both."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from capture.benchmark_queries import load, read_tables
from capture.oracle import Tally, judge
from capture.queries import analyzed
from headwater.capture.plan import analyze

SCALES = {"tpch": 0.003, "tpcds": 0.05}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("name", metafunc.config.getoption("--tpc").split(","))


@pytest.mark.timeout(7200)
def test_no_edge_is_missed(
    spark: SparkSession, name: str, report: Path, pytestconfig: pytest.Config
) -> None:
    step = pytestconfig.getoption("--tpcds-step") if name == "tpcds" else 1
    # The queries quote identifiers as the SQL standard does.
    spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    benchmark = load(name, SCALES[name], spark)
    tally = Tally()
    for number, sql in list(benchmark.queries.items())[::step]:
        lineage = analyze(analyzed(spark.sql(sql)))
        tables = read_tables(benchmark, sql)
        verdict = judge(benchmark.db, sql, tables, lineage, named_only=True)
        tally.add(f"query {number}", verdict)
    benchmark.db.close()
    spark.catalog.setCurrentDatabase("default")
    spark.conf.unset("spark.sql.ansi.doubleQuotedIdentifiers")
    tally.write(report, name)
    assert not tally.missed, "\n".join(tally.missed)
