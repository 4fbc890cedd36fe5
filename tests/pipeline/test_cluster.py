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
def worker(platform: Platform, tmp_path: Path) -> Iterator[WorkerProcess]:
    cluster = Cluster(platform, tmp_path)
    folder = tmp_path / "state"
    folder.mkdir()
    worker = WorkerProcess(platform, folder, cluster.url, state="s3://made-for-state/worker")
    try:
        cluster.start()
        worker.start()
        yield worker
        worker.stop()
    finally:
        cluster.stop()


def test_state_in_an_object_store_survives_the_worker_and_every_order_is_everywhere_once(
    worker: WorkerProcess, lab: Lab
) -> None:
    names = ("orders-source", "orders-s3-sink", "orders-iceberg-sink")
    source, archive, sink = (renamed(name, "crates") for name in names)
    worker.deploy((source[0], {**source[1], "rows.per.second": "50"}), archive, sink)
    eventually(lambda: lab.count("crates") > 200, 240)
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
    rows, objects = lab.table(table), lab.spark.read.json(place)
    assert rows.count() == rows.select("order_id").distinct().count() == count
    assert objects.count() == objects.select("order_id").distinct().count() == count
