"""The worker: Kafka Connect's API, and nothing lost or twice when it is killed."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from page.browser import launched, opened
from page.connectors import deployed, run_through
from pipeline.lab import Lab
from pipeline.process import WorkerProcess
from pipeline.renamed import renamed
from server.process import ServerProcess
from stack.connect_tour import tour
from stack.platform import Platform, eventually

# `make kills` tries ten.
KILLS = int(os.environ.get("HEADWATER_KILLS", "2"))


@pytest.fixture(scope="module")
def worker(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("worker") / "state"
    folder.mkdir()
    worker = WorkerProcess(platform, folder)
    worker.start()
    yield worker
    worker.stop()


def parcels(name: str, **more: str) -> tuple[str, dict[str, str]]:
    """One of the lab's connectors, on a topic and a table of this test's own."""
    return renamed(name, "parcels", **more)


def states(worker: WorkerProcess, name: str) -> list[str]:
    status = worker.get(f"/connectors/{name}/status")
    return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]


def kafka_offset(worker: WorkerProcess, name: str) -> int:
    found = worker.get(f"/connectors/{name}/offsets")["offsets"]
    return sum(one["offset"].get("kafka_offset", 0) for one in found)


def test_killed_under_load_nothing_is_lost_or_twice(worker: WorkerProcess, lab: Lab) -> None:
    worker.deploy(
        parcels("orders-source", **{"rows.per.second": "100"}),
        parcels("orders-s3-sink"),
        parcels("orders-iceberg-sink"),
    )
    eventually(lambda: kafka_offset(worker, "parcels-iceberg-sink") > 0, 180)
    for _ in range(KILLS):
        time.sleep(random.uniform(0, 5))  # in the middle of whatever it does then
        worker.kill()
        worker.start()
        assert {"parcels-iceberg-sink", "parcels-s3-sink", "parcels-source"} <= {
            *worker.get("/connectors")
        }
        before = lab.count("parcels")
        eventually(lambda before=before: lab.count("parcels") > before, 180)  # type: ignore[misc]
    assert worker.command("stop", "parcels-source").returncode == 0
    eventually(lambda: states(worker, "parcels-source") == ["STOPPED"], 90)
    count = lab.settled("parcels")
    for sink in ("parcels-s3-sink", "parcels-iceberg-sink"):
        eventually(lambda sink=sink: kafka_offset(worker, sink) == count, 180)  # type: ignore[misc]

    table = lab.table("demo_ib.default.parcels")
    archive = lab.spark.read.json("s3a://fh-dev-bucket/parcels")
    assert table.count() == table.select("order_id").distinct().count() == count
    assert archive.count() == archive.select("order_id").distinct().count() == count

    told = worker.command("logs", "parcels-s3-sink")
    assert told.returncode == 0, told.stderr
    assert "parcels-s3-sink runs as" in told.stdout
    for name in ("parcels-source", "parcels-s3-sink", "parcels-iceberg-sink"):
        assert worker.command("delete", name).returncode == 0


def test_sinks_go_on_where_they_were_or_where_they_are_told_to(
    worker: WorkerProcess, lab: Lab
) -> None:
    table = renamed("orders-iceberg-sink", "bundles")
    source = renamed("orders-source", "bundles", **{"rows.per.second": "50"})
    worker.deploy(source, renamed("orders-s3-sink", "bundles"), table)
    eventually(lambda: lab.count("bundles") > 20, 180)
    assert worker.command("stop", "bundles-source").returncode == 0
    count = lab.settled("bundles")
    for sink in ("bundles-s3-sink", "bundles-iceberg-sink"):
        eventually(lambda sink=sink: kafka_offset(worker, sink) == count, 180)  # type: ignore[misc]

    assert worker.command("delete", "bundles-iceberg-sink").returncode == 0
    worker.deploy(table)
    assert worker.command("stop", "bundles-s3-sink").returncode == 0
    eventually(lambda: states(worker, "bundles-s3-sink") == ["STOPPED"], 90)
    back = {
        "partition": {"kafka_topic": "bundles", "kafka_partition": 0},
        "offset": {"kafka_offset": count - 10},
    }
    moved = worker.ask("PATCH", "/connectors/bundles-s3-sink/offsets", {"offsets": [back]})
    assert moved.status_code == 200, moved.text
    # Not into the middle of an object, which would be there beside the one that is written anew.
    assert kafka_offset(worker, "bundles-s3-sink") <= count - 10
    assert worker.command("resume", "bundles-s3-sink").returncode == 0
    eventually(lambda: kafka_offset(worker, "bundles-s3-sink") == count, 120)
    eventually(lambda: lab.archived("s3a://fh-dev-bucket/bundles") == count, 120)
    eventually(lambda: kafka_offset(worker, "bundles-iceberg-sink") == count, 120)
    assert lab.table("demo_ib.default.bundles").count() == count
    for name in ("bundles-source", "bundles-s3-sink", "bundles-iceberg-sink"):
        assert worker.command("delete", name).returncode == 0


def test_others_client_manages_the_worker(worker: WorkerProcess) -> None:
    plugin = "com.amazonaws.mskdatagen.GeneratorSourceConnector"
    config = {"connector.class": plugin, "genv.tour.id.with": "#{Internet.uuid}"}
    tour(worker.url, "tour", {**config, "rows.per.second": "1"}, plugin)


def test_the_api_speaks_as_kafka_connect_does(worker: WorkerProcess) -> None:
    # A topic without a schema yet: the sink waits for it, and is running while it waits.
    config = {
        "connector.class": "s3-sink",
        "topics": "quiet",
        "s3.bucket.name": "b",
        "consumer.override.sasl.password": "open sesame",
    }
    made = worker.ask("POST", "/connectors", {"name": "quiet", "config": config})
    assert made.status_code == 201
    assert made.json()["type"] == "sink"
    assert made.json()["tasks"] == [{"connector": "quiet", "task": 0}]
    assert "open sesame" not in made.text + worker.ask("GET", "/connectors/quiet/config").text
    again = worker.ask("POST", "/connectors", {"name": "quiet", "config": config})
    assert (again.status_code, again.json()["error_code"]) == (409, 409)
    bad = worker.ask("PUT", "/connectors/bad/config", {"connector.class": "s3-sink"})
    assert bad.status_code == 400
    assert "topics: is missing" in bad.json()["message"]
    missing = worker.ask("GET", "/connectors/none/status")
    assert (missing.status_code, missing.json()) == (
        404,
        {"error_code": 404, "message": "Connector none not found"},
    )

    _becomes(worker, "quiet", "RUNNING", "RUNNING")
    assert worker.ask("PUT", "/connectors/quiet/pause").status_code == 202
    _becomes(worker, "quiet", "PAUSED", "PAUSED")
    assert worker.ask("PUT", "/connectors/quiet/resume").status_code == 202
    _becomes(worker, "quiet", "RUNNING", "RUNNING")
    assert worker.ask("DELETE", "/connectors/quiet/offsets").status_code == 400
    assert worker.ask("PUT", "/connectors/quiet/stop").status_code == 204
    _becomes(worker, "quiet", "STOPPED")
    assert worker.ask("DELETE", "/connectors/quiet/offsets").status_code == 200
    assert worker.ask("POST", "/connectors/quiet/restart").status_code == 204
    patched = worker.ask("PATCH", "/connectors/quiet/config", {"flush.size": "7"})
    assert (patched.status_code, patched.json()["config"]["flush.size"]) == (200, "7")
    expanded = worker.get("/connectors?expand=status&expand=info")["quiet"]
    assert set(expanded) == {"status", "info"}
    assert worker.get("/connectors/quiet/topics") == {"quiet": {"topics": ["quiet"]}}

    assert worker.get("/health")["status"] == "healthy"
    levels = worker.ask("PUT", "/admin/loggers/headwater.pipeline", {"level": "debug"})
    assert (levels.status_code, levels.json()) == (200, ["headwater.pipeline"])
    assert worker.get("/admin/loggers")["headwater.pipeline"]["level"] == "DEBUG"
    assert worker.get("/admin/loggers/root") == {"level": "INFO", "last_modified": None}
    for path in ("/admin/loggers/nothing", "/connectors/none/"):
        assert worker.ask("GET", path).status_code == 404
    assert worker.ask("PUT", "/admin/loggers/root", {"level": "loud"}).status_code == 404
    assert worker.get("/connectors/quiet/")["name"] == "quiet"

    plugins = {one["class"] for one in worker.get("/connector-plugins")}
    assert "io.confluent.connect.s3.S3SinkConnector" in plugins
    told = worker.ask("PUT", "/connector-plugins/s3-sink/config/validate", {"topics": "t"}).json()
    assert told["error_count"] == 1
    assert worker.ask("DELETE", "/connectors/quiet").status_code == 204
    assert worker.ask("GET", "/connectors/quiet").status_code == 404


def _becomes(worker: WorkerProcess, name: str, *wanted: str) -> None:
    eventually(lambda: states(worker, name) == [*wanted], 90)


def test_the_page_deploys_pauses_restarts_stops_and_deletes(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    config = {
        "connector.class": "s3-sink",
        "s3.bucket.name": "b",
        "consumer.override.sasl.password": "open sesame",
    }
    told = f"sqlite:///{tmp_path}/page.db", tmp_path / "server.log"
    with (
        ServerProcess(*told, "--connect", f"lab={worker.url}") as server,
        launched() as browser,
        opened(browser, server.url, reduced_motion="reduce") as page,
    ):
        page.goto("/pipelines")
        expect(page.locator("main")).to_contain_text("Headwater worker")
        panel = deployed(page, "seen", config, {"topics": "silent"})
        expect(panel).to_contain_text("******")
        expect(panel).not_to_contain_text("open sesame")
        run_through(page, "seen")
    assert "seen" not in worker.get("/connectors")
