"""Huge plans, and how long capture takes to read and to analyze them."""

import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headwater.capture.plan import analyze


def measure_plans(spark: SparkSession) -> list[dict[str, Any]]:
    """Read and analyze each plan twice; the first time warms up."""
    spark.range(1).write.mode("overwrite").saveAsTable("numbers")
    frames = {
        "500 columns": wide(spark),
        "200 joins": joins(spark),
        "5,000 plan nodes": unions(spark),
    }
    found = [{"plan": title, **_measure(frame)} for title, frame in frames.items()]
    spark.stop()
    return found


def _measure(frame: DataFrame) -> dict[str, Any]:
    plan: Any = frame._jdf.queryExecution().analyzed()
    for _ in range(2):
        began, spent = time.perf_counter(), time.process_time()
        text = str(plan.toJSON())
        read, spent_reading = time.perf_counter(), time.process_time()
        lineage = analyze(text)
        edges = sum(len(lineage.inputs(column)) for _, column in lineage.columns)
        done = time.perf_counter()
    return {
        "nodes": str(plan.treeString()).count("\n"),
        "megabytes": round(len(text) / 1e6, 1),
        "read_ms": round((read - began) * 1000),
        "read_cpu_ms": round((spent_reading - spent) * 1000),
        "analyze_ms": round((done - read) * 1000),
        "edges": edges,
    }


def wide(spark: SparkSession) -> DataFrame:
    frame = spark.table("numbers").selectExpr(*(f"id * {n} as c{n}" for n in range(500)))
    return frame.selectExpr(*(f"c{n} + c{(n + 1) % 500} as d{n}" for n in range(500)))


def joins(spark: SparkSession) -> DataFrame:
    sides = [spark.table("numbers").selectExpr("id", f"id + {n} as v{n}") for n in range(201)]
    return _together(sides, lambda left, right: left.join(right, "id"))


def unions(spark: SparkSession) -> DataFrame:
    one = spark.table("numbers")
    parts = [one.where("id > 0").selectExpr("id as a", "id * 2 as b") for _ in range(1250)]
    return _together(parts, lambda left, right: left.unionAll(right))


def _together(parts: list[DataFrame], combine: Any) -> DataFrame:
    """Pairwise, so that the plan is a bush and no chain."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        combined = [combine(left, right) for left, right in pairs]
        parts = combined + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]
