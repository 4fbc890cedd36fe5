"""Declarative pipelines of Spark 4.1: every flow with its columns, under one pipeline run."""

import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

from capture.kinds import Check, runs
from capture.processes import running
from capture.receiver import Receiver

SPEC = """
name: shop
storage: file://{home}/storage
libraries:
  - glob:
      include: transformations/**
configuration:
  spark.sql.shuffle.partitions: "1"
"""
PYTHON = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.active()


@dp.table
def arrived():
    return spark.readStream.schema("id int, price double").json("{home}/in")


@dp.materialized_view
def totals():
    return spark.read.table("arrived").groupBy("id").agg(F.sum("price").alias("total"))
"""
SQL = "CREATE MATERIALIZED VIEW doubled AS SELECT id, total * 2 AS twice FROM totals;"
BROKEN = (
    "CREATE MATERIALIZED VIEW broken AS SELECT raise_error('no more of this') AS x FROM totals;"
)

pytestmark = pytest.mark.skipif(pyspark.__version__ < "4.1", reason="they are new in Spark 4.1")


def test_flows_of_a_pipeline_are_captured(tmp_path: Path, receiver: Receiver, kind: Check) -> None:
    for folder in ("in", "transformations"):
        (tmp_path / folder).mkdir()
    (tmp_path / "in" / "a.json").write_text('{"id": 1, "price": 2.5}\n')
    spec = tmp_path / "spark-pipeline.yml"
    spec.write_text(SPEC.format(home=tmp_path))
    (tmp_path / "transformations" / "shop.py").write_text(PYTHON.format(home=tmp_path))
    (tmp_path / "transformations" / "doubled.sql").write_text(SQL)
    (tmp_path / "transformations" / "broken.sql").write_text(BROKEN)
    command = (sys.executable, "-m", "headwater.cli.main", "run", str(spec))
    options = "--driver-memory 700m --conf spark.ui.enabled=false pyspark-shell"
    with running(tmp_path, receiver.url, *command, PYSPARK_SUBMIT_ARGS=options) as app:
        assert app.exit_code() == 1, app.text()
    log = (tmp_path / "log").read_text()
    assert "capture failed" not in log
    arrived, totals, doubled, broken = (
        _last(receiver, f"default{dot}{name}")
        for dot, name in ((".", "arrived"), ("_", "totals"), ("_", "doubled"), ("_", "broken"))
    )
    ends = [one["eventType"] for one in (arrived, totals, doubled, broken)]
    assert ends == ["COMPLETE", "COMPLETE", "COMPLETE", "FAIL"]
    assert receiver.types("shop")[-1] == "FAIL"
    for event in (arrived, totals, doubled):
        assert event["run"]["facets"]["parent"]["job"]["name"] == "shop"
    assert _origins(arrived, "price") == {("in", "price")}
    assert _origins(totals, "total") == {("arrived", "price"), ("arrived", "id")}
    assert _origins(doubled, "twice") == {("totals", "total")}
    assert _symlink(totals["inputs"][0]) == _symlink(arrived["outputs"][0]) == "default.arrived"
    rows = {
        "Declarative pipeline: streaming table in Python": "/arrived",
        "Declarative pipeline: materialized view in Python": "/totals",
        "Declarative pipeline: materialized view in SQL": "/doubled",
        "Declarative pipeline: a flow that fails": "/broken",
    }
    for words, output in rows.items():
        kind(words, runs(receiver.events, output)[-1])  # one that fails is tried again


def _last(receiver: Receiver, name: str) -> dict[str, Any]:
    return [event for event in receiver.events if event["job"]["name"].endswith(name)][-1]


def _origins(event: dict[str, Any], column: str) -> set[tuple[str, str]]:
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    return {(one["name"].rpartition("/")[2], one["field"]) for one in fields[column]["inputFields"]}


def _symlink(dataset: dict[str, Any]) -> str:
    return str(dataset["facets"]["symlinks"]["identifiers"][0]["name"])
