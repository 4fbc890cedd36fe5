"""No edge is missed: what an input column changes is in the captured lineage."""

import random
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from capture.nested_queries import NestedGenerator
from capture.oracle import Tally, judge
from capture.pairs import read_pairs
from capture.queries import analyzed
from capture.random_queries import Generator
from capture.tables import TABLES
from headwater.capture.plan import analyze
from headwater.capture.plan.tree import parse, walk

SQL_PAIRS = [pair for pair in read_pairs() if "df = " not in pair.query]


@pytest.fixture(scope="module")
def db() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("create schema base")
    rng = random.Random(7)
    for name in ("orders", "customers", "items", "nested"):
        connection.execute(f"create table base.{name} ({_duckdb_columns(TABLES[name])})")
        connection.execute(f"create view {name} as from base.{name}")
    for n in range(40):
        connection.execute("insert into base.orders values (?, ?, ?, ?, ?, ?)", _order(rng, n))
    for n in range(8):
        city = rng.choice("xyz")
        connection.execute(
            "insert into base.customers values (?, ?, ?, ?)", (n, f"n{n}", city, n * 1.5 - 2)
        )
    for n, item in enumerate("abcdef"):
        tags = [rng.choice("pqr") for _ in range(n % 3)]
        connection.execute(
            "insert into base.items values (?, ?, ?, ?)", (item, rng.choice("uv"), n * 1.0, tags)
        )
    for n in range(12):
        connection.execute("insert into base.nested values (?, ?, ?, ?, ?)", _nested(rng, n))
    connection.execute(
        "create view pricey as select order_id, item, price from orders where qty > 1"
    )
    yield connection
    connection.close()


def _duckdb_columns(columns: str) -> str:
    """Columns as DuckDB writes them; structs, arrays and maps only as the tables have them."""
    for spark, duckdb_type in {
        "array<string>": "varchar[]",
        "struct<street:string,geo:struct<lat:double,lon:double>>": (
            "struct(street varchar, geo struct(lat double, lon double))"
        ),
        "array<struct<sku:string,n:int>>": "struct(sku varchar, n int)[]",
        "map<string,string>": "map(varchar, varchar)",
    }.items():
        columns = columns.replace(spark, duckdb_type)
    return columns


def _nested(rng: random.Random, n: int) -> tuple[object, ...]:
    address = {"street": rng.choice("abc"), "geo": {"lat": n / 2, "lon": rng.randrange(9) / 2}}
    lines = [{"sku": rng.choice("xyz"), "n": rng.randrange(5)} for _ in range(n % 3)]
    return n, address, lines, {"k": rng.choice("pq"), f"k{n}": "r"}, rng.choice("uvw")


def _order(rng: random.Random, n: int) -> tuple[object, ...]:
    day = f"2026-01-{n % 28 + 1:02d} 10:00:{n:02d}"
    item = rng.choice([*"abcdefg", None])
    return n, rng.randrange(10), item, rng.randrange(1, 60) / 4, rng.randrange(9), day


def test_no_edge_of_a_golden_query_is_missed(
    spark: SparkSession, db: duckdb.DuckDBPyConnection, report: Path
) -> None:
    tally = Tally()
    for pair in SQL_PAIRS:
        try:
            db.execute(pair.query)
        except duckdb.Error:
            continue  # Spark's own syntax or functions
        lineage = analyze(analyzed(spark.sql(pair.query)))
        if "rand(" not in pair.query:
            tally.add(pair.query, judge(db, pair.query, _tables(pair.query), lineage))
    tally.write(report, "golden queries")
    assert not tally.missed, "\n".join(tally.missed)
    assert tally.queries >= 60


def test_no_edge_of_a_random_query_is_missed(
    spark: SparkSession, db: duckdb.DuckDBPyConnection, oracle_queries: int, report: Path
) -> None:
    tally = Tally()
    for seed in range(oracle_queries):
        query = Generator(seed).query()
        lineage = analyze(analyzed(spark.sql(query)))
        tally.add(f"seed {seed}: {query}", judge(db, query, _tables(query), lineage))
    tally.write(report, "random queries")
    assert not tally.missed, "\n".join(tally.missed)


def test_no_edge_of_a_random_query_over_nested_values_is_missed(
    spark: SparkSession, db: duckdb.DuckDBPyConnection, oracle_queries: int, report: Path
) -> None:
    tally = Tally()
    for seed in range(oracle_queries):
        query = NestedGenerator(seed).query()
        lineage = analyze(analyzed(spark.sql(query.spark)))
        tally.add(f"seed {seed}: {query.spark}", judge(db, query.duckdb, ["nested"], lineage))
    tally.write(report, "random queries over nested values")
    assert not tally.missed, "\n".join(tally.missed)


def test_oracle_sees_a_value_inside_a_column_that_lineage_lacks(
    spark: SparkSession, db: duckdb.DuckDBPyConnection
) -> None:
    blind = analyze(analyzed(spark.sql("select address.geo.lon as x from nested")))
    verdict = judge(db, "select address.geo.lat as x from nested", ["nested"], blind)
    assert verdict.missed == {("nested", "address.geo.lat", "x")}


def test_oracle_looks_at_each_value_inside_an_output(
    spark: SparkSession, db: duckdb.DuckDBPyConnection
) -> None:
    query = "select named_struct('a', id, 'b', address.geo.lat) as s from nested"
    lineage = analyze(analyzed(spark.sql(query)))
    other = "select {'a': address.geo.lat, 'b': id} as s from nested"
    verdict = judge(db, other, ["nested"], lineage)
    assert ("nested", "address.geo.lat", "s.a") in verdict.missed
    assert ("nested", "id", "s.b") in verdict.missed


def test_oracle_sees_an_edge_that_lineage_lacks(
    spark: SparkSession, db: duckdb.DuckDBPyConnection
) -> None:
    query = "select item from orders where price > 3"
    blind = analyze(analyzed(spark.sql("select item from orders")))
    verdict = judge(db, query, ["orders"], blind)
    assert verdict.missed == {("orders", "price", "item")}


def _tables(query: str) -> list[str]:
    return [name for name in ("orders", "customers", "items", "nested") if name in query]


def test_plans_are_read_without_recursion() -> None:
    depth = 20_000
    limit = "org.apache.spark.sql.catalyst.plans.logical.Distinct"
    leaf = {"class": "org.apache.spark.sql.catalyst.plans.logical.OneRowRelation"}
    plan = [{"class": limit, "num-children": 1, "child": 0}] * depth
    root = parse([*plan, {**leaf, "num-children": 0}])
    assert sum(1 for _ in walk(root)) == depth + 1
    assert analyze(root).columns == ()
