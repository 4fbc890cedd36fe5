"""Column lineage of each construct, from plans that real Spark analyzed."""

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from capture.pairs import Pair, describe, read_pairs, write_pairs
from capture.queries import analyzed, run_query
from headwater.capture.plan import analyze

PAIRS = read_pairs()


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{p.file[:-4]}-{p.title}" for p in PAIRS])
def test_query_gives_its_column_edges(spark: SparkSession, pair: Pair, renewing: bool) -> None:
    found = describe(analyze(analyzed(_frame(spark, pair.query))))
    if renewing:
        _renew(pair, found)
        return
    assert found == pair.edges


def test_there_is_a_pair_for_each_construct() -> None:
    assert len(PAIRS) >= 120
    assert len({(pair.file, pair.title) for pair in PAIRS}) == len(PAIRS)


def _frame(spark: SparkSession, query: str) -> DataFrame:
    if pyspark.__version__ >= "4.1":
        return run_query(spark, query)
    try:
        return run_query(spark, query)
    except (PySparkException, AttributeError, ImportError, TypeError) as error:
        pytest.skip(f"an older Spark knows no such query: {error}")


def _renew(pair: Pair, found: tuple[str, ...]) -> None:
    pairs = read_pairs()
    write_pairs([p._replace(edges=found) if p[:3] == pair[:3] else p for p in pairs])
