"""The pipeline on a real Spark standalone cluster, with its state in an object store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cluster import Cluster
from pipeline.lab import Lab
from pipeline.process import WorkerProcess
from pipeline.renamed import renamed
from stack.platform import Platform, eventually


@pytest.fixture
def cluster(platform: Platform, tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(platform, tmp_path)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def worker(platform: Platform, cluster: Cluster, tmp_path: Path) -> Iterator[WorkerProcess]:
    folder = tmp_path / "state"
    folder.mkdir()
    worker = WorkerProcess(platform, folder, cluster.url, state="s3://made-for-state/worker")
    worker.start()
    yield worker
    worker.stop()


def test_every_order_is_everywhere_once_though_executor_spark_worker_and_worker_are_killed(
    cluster: Cluster, worker: WorkerProcess, lab: Lab
) -> None:
    names = ("orders-source", "orders-s3-sink", "orders-iceberg-sink")
    source, archive, sink = (renamed(name, "crates") for name in names)
    worker.deploy((source[0], {**source[1], "rows.per.second": "50"}), archive, sink)
    more_orders(lab)
    cluster.kill_executor()
    more_orders(lab)
    cluster.kill_worker()
    more_orders(lab)
    assert worker.command("stop", "crates-source").returncode == 0
    worker.kill()
    worker.start()
    assert worker.get("/connectors") == ["crates-iceberg-sink", "crates-s3-sink", "crates-source"]
    assert worker.get("/connectors/crates-source/status")["connector"]["state"] == "STOPPED"
    assert not [*worker.folder.iterdir()]
    count = lab.settled("crates")
    table = "demo_ib.default.crates"
    eventually(lambda: lab.table(table).count() >= count, 180)
    place = "s3a://fh-dev-bucket/crates"
    eventually(lambda: lab.archived(place) >= count, 180)
    orders = len(lab.values("crates"))  # what a lost executor was sending is sent again
    for found in (lab.table(table), lab.spark.read.json(place)):
        assert (found.count(), found.select("order_id").distinct().count()) == (count, orders)


def more_orders(lab: Lab) -> None:
    """Wait until the source has gone on for a while."""
    before = lab.count("crates")
    eventually(lambda: lab.count("crates") > before + 100, 240)
