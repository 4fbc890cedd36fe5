"""OpenLineage's own listener beside capture: one table is one dataset, whoever tells of it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from capture.jars import prepare_spark
from capture.lifecycle import events
from capture.processes import APPS, running
from headwater.capture.official import LISTENER, with_listener
from headwater.cli.capture import with_official
from headwater.stack import Settings, spark_conf
from server.process import ServerProcess
from stack.platform import Platform

Edges = set[tuple[str, str, str]]


def on_disk(home: Path) -> Iterator[dict[str, str]]:
    """A Hadoop catalog in a folder."""
    catalog = "spark.sql.catalog.ice"
    yield {
        "spark.jars": prepare_spark(),
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": str(home / "warehouse"),
    }


def on_hive_and_s3(home: Path) -> Iterator[dict[str, str]]:
    """A Hive catalog with its tables in an object store, of a platform's own."""
    prepare_spark()
    platform = Platform(home / "platform")
    platform.up("--only", "s3,metastore")
    try:
        yield spark_conf(Settings.read(platform.environ), catalog="ice")
    finally:
        platform.run("down")


@pytest.fixture(params=[on_disk, on_hive_and_s3], ids=["on disk", "on Hive and S3"])
def conf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A session's configuration with an Iceberg catalog named `ice`."""
    yield from request.param(tmp_path)


def test_table_is_one_dataset_for_both(tmp_path: Path, conf: dict[str, str]) -> None:
    with ServerProcess(f"sqlite:///{tmp_path}/lineage.db", tmp_path / "server.log") as server:
        for listener in ("headwater", "official"):
            observe(tmp_path, server, listener, conf)
        ours, theirs = (written(server, name) for name in ("headwater", "official"))
        assert nodes(server, ours) == nodes(server, theirs)
        assert direct_edges(ours) == direct_edges(theirs)
        assert direct_edges(ours) == {
            ("orders", "item", "item"),
            ("orders", "price", "total"),
        }
        (target,) = nodes(server, ours)["outputs"]
        graph = server.api.lineage(target)
        jobs = {node.split(":")[1] for node in graph if node.startswith("job:")}
        assert jobs == {"headwater", "official"}


def observe(home: Path, server: ServerProcess, listener: str, conf: dict[str, str]) -> None:
    (home / listener).mkdir()
    options = ("--url", server.url, "--namespace", listener, "--listener", listener)
    command = (sys.executable, "-m", "headwater.cli.main", "run", *options)
    more = {"SPARK_CONF": json.dumps(conf)}
    app = str(APPS / "totals.py")
    with running(home / listener, server.url, *command, app, **more) as process:
        assert process.exit_code() == 0, process.text()


def written(server: ServerProcess, namespace: str) -> dict[str, Any]:
    """The last event that tells of the totals' columns."""
    return [
        event
        for event in events(server.api)
        if event["job"]["namespace"] == namespace
        and event["eventType"] == "COMPLETE"
        and any(dataset["name"].endswith("totals") for dataset in event["outputs"])
        and event["outputs"][0]["facets"].get("columnLineage")
    ][-1]


def nodes(server: ServerProcess, event: dict[str, Any]) -> dict[str, set[str]]:
    """The datasets of the job that an event tells of, as the server knows them."""
    job = server.api.job(event["job"]["name"], event["job"]["namespace"])
    return {
        side: {f"dataset:{one['namespace']}:{one['name']}" for one in job[side]}
        for side in ("inputs", "outputs")
    }


def direct_edges(event: dict[str, Any]) -> Edges:
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    return {
        (entry["name"].rpartition("/")[2], entry["field"], name)
        for name, field in fields.items()
        for entry in field["inputFields"]
        if any(one["type"] == "DIRECT" for one in entry["transformations"])
    }


def test_listener_comes_beside_what_is_configured() -> None:
    conf = with_listener(
        {"spark.jars": "a.jar", "spark.extraListeners": "mine"},
        "listener.jar",
        {"OPENLINEAGE_URL": "http://x", "OPENLINEAGE_API_KEY": "key"},
    )
    assert conf["spark.jars"] == "a.jar,listener.jar"
    assert conf["spark.extraListeners"] == f"mine,{LISTENER}"
    assert conf["spark.openlineage.transport.auth.apiKey"] == "key"
    assert "spark.openlineage.namespace" not in conf


@pytest.mark.parametrize(
    "given", [["--jars", "a.jar"], ["--jars=a.jar"], ["--conf", "spark.jars=a.jar"]]
)
def test_jars_of_spark_submit_stay(given: list[str]) -> None:
    options = with_official(["--master", "local[1]", "--verbose", *given], "listener.jar", {})
    assert options[:3] == ["--master", "local[1]", "--verbose"]
    assert "spark.jars=a.jar,listener.jar" in options
