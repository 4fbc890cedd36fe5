"""Tables of catalogs that really run: Iceberg's in a database and behind REST, and Delta's."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyspark
import pytest

import jvm
from capture.jars import prepare_spark
from capture.kinds import Check, runs
from capture.processes import python, running
from capture.receiver import Receiver
from capture.waiting import until
from headwater.stack import Settings, spark_jars
from ports import free_port

Columns = dict[str, set[tuple[str, str]]]
ICEBERG, DELTA = "org.apache.iceberg.spark", "io.delta.sql.DeltaSparkSessionExtension"


def jars(*sets: str) -> list[str]:
    return list(map(str, spark_jars(Settings.read(os.environ), sets=sets)))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("catalogs")


@pytest.fixture(scope="module")
def rest(home: Path) -> Iterator[str]:
    """The address of Iceberg's own server for its REST protocol."""
    prepare_spark()
    hadoop = sorted(map(str, (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*")))
    # Two files of one artifact, which Ivy fetches only apart.
    path = [*jars("iceberg-rest"), *jars("iceberg-rest-servlet", "sqlite"), *hadoop]
    port = free_port()
    java = Path(os.environ["JAVA_HOME"], "bin", "java")
    environ = {"CATALOG_REST_PORT": str(port), "CATALOG_WAREHOUSE": str(home / "rest")}
    with (home / "rest.log").open("wb") as log:
        process = subprocess.Popen(
            [
                java,
                "-Xmx256m",
                *jvm.QUICK.split(),
                "-cp",
                ":".join(path),
                "org.apache.iceberg.rest.RESTCatalogServer",
            ],
            env={**os.environ, **environ},
            stdout=log,
            stderr=log,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        until(lambda: _answers(url) or process.poll() is not None, 120)
        assert process.poll() is None, (home / "rest.log").read_text()
        yield url
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def told(home: Path, rest: str) -> Iterator[list[dict[str, Any]]]:
    """All events of one application in all catalogs: starting Spark is slow."""
    receiver = Receiver()
    conf = {
        "spark.jars": ",".join([prepare_spark(), *jars("sqlite", "delta")]),
        "spark.sql.extensions": f"{ICEBERG}.extensions.IcebergSparkSessionExtensions,{DELTA}",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        **iceberg("lake", "rest", rest),
        **iceberg("db", "jdbc", f"jdbc:sqlite:{home}/catalog.db"),
        "spark.sql.catalog.db.warehouse": str(home / "db"),
        "spark.sql.catalog.db.jdbc.user": "someone",
        "spark.sql.catalog.db.jdbc.password": "secret",
    }
    command = python("catalogs.py", "db:iceberg", "lake:iceberg", "spark_catalog:delta")
    with running(home, receiver.url, *command, SPARK_CONF=json.dumps(conf)) as app:
        assert app.exit_code() == 0, app.text()
    yield receiver.events
    receiver.close()


def iceberg(catalog: str, kind: str, uri: str) -> dict[str, str]:
    name = f"spark.sql.catalog.{catalog}"
    return {name: f"{ICEBERG}.SparkCatalog", f"{name}.type": kind, f"{name}.uri": uri}


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/v1/config", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def test_iceberg_tables_of_a_database(home: Path, told: list[dict[str, Any]]) -> None:
    check(told, home / "db/shop", f"sqlite:{home}/catalog.db")
    assert "secret" not in json.dumps(told)


def test_iceberg_tables_behind_rest(home: Path, rest: str, told: list[dict[str, Any]]) -> None:
    check(told, home / "rest/shop", rest)


def test_delta_tables(home: Path, told: list[dict[str, Any]], kind: Check) -> None:
    place = home / "warehouse/shop.db"
    rows = (
        "Delta: `INSERT INTO … VALUES`",
        "Delta: `UPDATE`",
        "Delta: `DELETE`",
        "Delta: `MERGE`",
    )
    for words, run in zip(rows, runs(told, f"{place}/orders"), strict=True):
        kind(words, run)
    kind("Delta: `CREATE TABLE … AS SELECT`", *runs(told, f"{place}/copy"))
    kind("Streaming query from a Delta table to another", *runs(told, f"{place}/streamed"))
    check(told, place, f"file:{home}/warehouse")
    read = [
        (one["name"].rpartition("/")[2], one["facets"]["version"]["datasetVersion"])
        for event in ends(told, place)
        for one in event["inputs"]
        if event["job"]["name"] != "streamed"
    ]
    # Made, filled, changed, deleted from, merged into; the copy is made once.
    assert read[:3] == [("orders", "1"), ("orders", "1"), ("orders", "2")]
    assert sorted(read[3:]) == [("copy", "0"), ("orders", "3")]


def ends(told: list[dict[str, Any]], place: Path) -> list[dict[str, Any]]:
    """The last word on each write into a folder."""
    complete = [one for one in told if one["eventType"] == "COMPLETE" and one["outputs"]]
    return [one for one in complete if one["outputs"][0]["name"].startswith(f"{place}/")]


def check(told: list[dict[str, Any]], place: Path, catalog: str) -> None:
    """Every write, with the datasets by place and by name, and where the columns come from."""
    told = ends(told, place)
    insert, copy, *changes = [event for event in told if event["job"]["name"] != "streamed"]
    (streamed,) = [event for event in told if event["job"]["name"] == "streamed"]
    orders, copied = (("file", f"{place}/{name}") for name in ("orders", "copy"))
    named = {"orders": orders, "copy": copied, "streamed": ("file", f"{place}/streamed")}
    for event in told:
        for dataset in (*event["inputs"], *event["outputs"]):
            key = (dataset["namespace"], dataset["name"])
            table = dataset["name"].rpartition("/")[2]
            assert key == named[table]
            (symlink,) = dataset["facets"]["symlinks"]["identifiers"]
            assert (symlink["namespace"], symlink["name"]) == (catalog, f"shop.{table}")
    assert columns(insert) == ("orders", {})
    both = {("orders", "id")}, {("orders", "item")}
    assert columns(copy) == ("copy", {"n": both[0], "item": both[1]})
    assert columns(streamed) == ("streamed", {"id": both[0], "item": both[1]})
    update, delete, merge = changes
    assert columns(update) == columns(delete) == ("orders", {"id": both[0], "item": both[1]})
    merged = {"id": both[0] | {("copy", "n")}, "item": both[1] | {("copy", "item")}}
    assert columns(merge) == ("orders", merged)


def columns(event: dict[str, Any]) -> tuple[str, Columns]:
    """The table that is written, and the fields whose values reach each of its columns."""
    (output,) = event["outputs"]
    fields = output["facets"].get("columnLineage", {"fields": {}})["fields"]
    direct = {
        name: {
            (one["name"].rpartition("/")[2], one["field"])
            for one in field["inputFields"]
            if any(how["type"] == "DIRECT" for how in one["transformations"])
        }
        for name, field in fields.items()
    }
    return output["name"].rpartition("/")[2], {n: found for n, found in direct.items() if found}
