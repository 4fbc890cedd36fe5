"""Column lineage of each construct, from plans that real Spark analyzed."""

import pytest
from pyspark.sql import SparkSession

from capture.pairs import Pair, describe, read_pairs, write_pairs
from capture.queries import analyzed, run_query
from headwater.capture.plan import analyze

PAIRS = read_pairs()


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{p.file[:-4]}-{p.title}" for p in PAIRS])
def test_query_gives_its_column_edges(spark: SparkSession, pair: Pair, renewing: bool) -> None:
    found = describe(analyze(analyzed(run_query(spark, pair.query))))
    if renewing:
        _renew(pair, found)
        return
    assert found == pair.edges


def test_there_is_a_pair_for_each_construct() -> None:
    assert len(PAIRS) >= 120
    assert len({(pair.file, pair.title) for pair in PAIRS}) == len(PAIRS)


def _renew(pair: Pair, found: tuple[str, ...]) -> None:
    pairs = read_pairs()
    write_pairs([p._replace(edges=found) if p[:3] == pair[:3] else p for p in pairs])
