"""The queries, schemas and small data of TPC-H and TPC-DS, out of DuckDB's extensions."""

import importlib
import re
from pathlib import Path
from typing import NamedTuple

import duckdb
from pyspark.sql import SparkSession


class Benchmark(NamedTuple):
    """A loaded benchmark: its data in DuckDB, its empty tables in Spark."""

    db: duckdb.DuckDBPyConnection
    queries: dict[int, str]
    tables: tuple[str, ...]


def load(name: str, scale: float, spark: SparkSession) -> Benchmark:
    """Load `tpch` or `tpcds`: data in DuckDB's schema `base`, tables in a database of Spark's."""
    db = duckdb.connect(":memory:", config={"threads": 1, "allow_unsigned_extensions": True})
    package = importlib.import_module(f"duckdb_extension_{name}")
    extension = next(Path(str(package.__file__)).parent.rglob("*.duckdb_extension"))
    db.execute(f"load '{extension}'")
    db.execute("create schema base")
    generator = "dbgen" if name == "tpch" else "dsdgen"
    db.execute(f"call {generator}(sf={scale}, schema='base')")
    rows = db.execute(
        "select table_name from information_schema.tables where table_schema = 'base'"
    ).fetchall()
    tables = tuple(str(row[0]) for row in rows)
    spark.sql(f"create database {name}")
    spark.catalog.setCurrentDatabase(name)
    for table in tables:
        db.execute(f"create view {table} as from base.{table}")
        spark.sql(f"create table {table} ({_columns(db, table)}) using parquet")
    queries = db.execute(f"select query_nr, query from {name}_queries()").fetchall()
    return Benchmark(db, {int(n): str(sql).rstrip().rstrip(";") for n, sql in queries}, tables)


def read_tables(benchmark: Benchmark, sql: str) -> list[str]:
    """The tables that a query names."""
    return [t for t in benchmark.tables if re.search(rf"\b{t}\b", sql, re.IGNORECASE)]


def _columns(db: duckdb.DuckDBPyConnection, table: str) -> str:
    described = db.execute(f"describe base.{table}").fetchall()
    return ", ".join(f"{row[0]} {_spark_type(str(row[1]))}" for row in described)


def _spark_type(kind: str) -> str:
    return {"VARCHAR": "string", "INTEGER": "int", "TIME": "string"}.get(kind, kind.lower())
