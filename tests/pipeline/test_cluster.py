"""The same pipeline on a real Spark standalone cluster: counts agree there too."""

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
    state = tmp_path / "state"
    state.mkdir()
    worker = WorkerProcess(platform, state, cluster.url)
    try:
        cluster.start()
        worker.start()
        yield worker
        worker.stop()
    finally:
        cluster.stop()


def test_every_order_is_everywhere_once_on_a_cluster(worker: WorkerProcess, lab: Lab) -> None:
    names = ("orders-source", "orders-s3-sink", "orders-iceberg-sink")
    source, archive, sink = (renamed(name, "crates") for name in names)
    worker.deploy((source[0], {**source[1], "rows.per.second": "50"}), archive, sink)
    eventually(lambda: lab.count("crates") > 500, 240)
    assert worker.command("stop", "crates-source").returncode == 0
    count = lab.settled("crates")
    table = "demo_ib.default.crates"
    eventually(lambda: lab.table(table).count() >= count, 180)
    place = "s3a://fh-dev-bucket/crates"
    eventually(lambda: lab.archived(place) >= count, 180)
    rows, objects = lab.table(table), lab.spark.read.json(place)
    assert rows.count() == rows.select("order_id").distinct().count() == count
    assert objects.count() == objects.select("order_id").distinct().count() == count
