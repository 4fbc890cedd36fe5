"""Each Iceberg snapshot of a stream is tied to the offsets it holds, across kills of the driver.

The rows of the table keep the partition and offset they came from: what the server answers is
compared with them, snapshot by snapshot.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psutil
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from server.process import ServerProcess
from stack.platform import Platform, eventually

# Snapshots that each of the two drivers is to make.
_COMMITS = int(os.environ.get("HEADWATER_COMMITS", "6"))
_APPLICATION = """
import sys
from pyspark.sql import SparkSession

bootstrap, warehouse, checkpoint, trigger = sys.argv[1:]
spark = (
    SparkSession.builder.appName("offsets").master("local[2]")
    .config("spark.sql.catalog.kept", "org.apache.iceberg.spark.SparkCatalog")
    .config("spark.sql.catalog.kept.type", "hadoop")
    .config("spark.sql.catalog.kept.warehouse", warehouse)
    .getOrCreate()
)
spark.sql("CREATE TABLE IF NOT EXISTS kept.db.records (part int, place bigint) USING iceberg")
(
    spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    .option("subscribe", "numbers").option("startingOffsets", "earliest").load()
    .selectExpr("partition AS part", "offset AS place")
    .writeStream.queryName("keep_offsets").option("checkpointLocation", checkpoint)
    .trigger(**{"availableNow": True} if trigger == "once" else {"processingTime": trigger})
    .toTable("kept.db.records").awaitTermination()
)
"""


@contextmanager
def driver(
    platform: Platform, server: ServerProcess, folder: Path, trigger: str = "100 milliseconds"
) -> Iterator["subprocess.Popen[bytes]"]:
    script = folder / "application.py"
    script.write_text(_APPLICATION)
    bootstrap = platform.variables()["KAFKA_BOOTSTRAP_SERVERS"]
    arguments = [bootstrap, str(folder / "warehouse"), str(folder / "checkpoint"), trigger]
    with (folder / "driver.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "headwater.cli.main", "run", str(script), *arguments],
            env={
                **platform.environ,
                "JAVA_HOME": platform.variables()["JAVA_HOME"],
                "OPENLINEAGE_URL": server.url,
                "HEADWATER_HEARTBEAT_SECONDS": "1",
                "HEADWATER_SPOOL_DIR": str(folder / "spool"),
                "PYSPARK_SUBMIT_ARGS": f"--jars {platform.spark()['spark.jars']} pyspark-shell",
            },
            stdout=log,
            stderr=log,
        )
    own = psutil.Process(process.pid)
    try:
        yield process
    finally:
        everyone = own.children(recursive=True) if process.poll() is None else []
        for one in (own, *everyone):
            with suppress(psutil.NoSuchProcess):
                one.kill()
        process.wait(60)
        psutil.wait_procs(everyone, 60)


def test_the_offsets_of_every_snapshot_are_those_of_its_rows(
    platform: Platform, spark: SparkSession, tmp_path: Path
) -> None:
    bootstrap = platform.variables()["KAFKA_BOOTSTRAP_SERVERS"]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic("numbers", 3, 1)]).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    snapshots = tmp_path / "warehouse/db/records/metadata"

    def feed_until(count: int, process: "subprocess.Popen[bytes]") -> None:
        """Send records, a few at a time, until the table has so many snapshots."""
        numbers = iter(range(10**9))

        def is_enough() -> bool:
            assert process.poll() is None, (tmp_path / "driver.log").read_text()[-3000:]
            for _ in range(7):
                producer.produce("numbers", json.dumps(next(numbers)).encode())
            producer.flush(30)
            return len([*snapshots.glob("snap-*.avro")]) >= count

        eventually(is_enough, 300)

    store = f"sqlite:///{tmp_path}/lineage.db"
    with ServerProcess(store, tmp_path / "server.log") as server:
        with driver(platform, server, tmp_path) as first:
            feed_until(_COMMITS - 2, first)
            server.end()
            feed_until(_COMMITS, first)
            eventually(lambda: _latest(tmp_path, "commits") == _latest(tmp_path, "offsets"), 60)
        _lose_last_words(tmp_path)
        server.start()
        with driver(platform, server, tmp_path) as second:
            feed_until(2 * _COMMITS, second)
        with driver(platform, server, tmp_path, "once") as third:
            assert third.wait(180) == 0
        _compare(spark, server, tmp_path, f"dataset:kafka://{bootstrap}:numbers")


def _lose_last_words(folder: Path) -> None:
    """Leave a folder as a driver does that was killed after its table knew of a micro-batch.

    Neither Spark nor the server knows of it: it is run again.
    """
    shutil.rmtree(folder / "spool")
    last = _latest(folder, "commits")
    for name in (f"{last}", f".{last}.crc"):
        (folder / "checkpoint/commits" / name).unlink()


def _latest(folder: Path, log: str) -> int:
    """The latest micro-batch in one of the logs of a checkpoint."""
    return max(int(path.name) for path in (folder / "checkpoint" / log).glob("[0-9]*"))


def _compare(spark: SparkSession, server: ServerProcess, folder: Path, topic: str) -> None:
    conf = "spark.sql.catalog.kept"
    spark.conf.set(conf, "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"{conf}.type", "hadoop")
    spark.conf.set(f"{conf}.warehouse", str(folder / "warehouse"))
    rows = spark.sql(
        "SELECT e.snapshot_id, r.part, min(r.place), max(r.place) + 1 FROM kept.db.records r "
        "JOIN kept.db.records.all_entries e ON r._file = e.data_file.file_path "
        "GROUP BY e.snapshot_id, r.part"
    ).collect()
    expected: dict[str, dict[str, dict[str, int]]] = {}
    for snapshot, part, first, end in rows:
        expected.setdefault(str(snapshot), {})[str(part)] = {"from": first, "to": end}
    assert len(expected) >= 2 * _COMMITS
    space, name = quote("file", ""), quote(f"{folder}/warehouse/db/records", "")
    path = f"/namespaces/{space}/datasets/{name}/snapshots"
    told = {id_: server.api.get(f"{path}/{id_}/offsets")["offsets"] for id_ in expected}
    assert told == {id_: {"numbers": parts} for id_, parts in expected.items()}
    drivers = _drivers(spark)
    runs = set()
    for id_, parts in expected.items():
        (write,) = server.api.get(
            "/why", nodeId=f"dataset:file:{folder}/warehouse/db/records", snapshot=id_
        )["writes"]
        assert (write["exact"], write["offsets"]) == (True, told[id_])
        runs.add((drivers[id_], write["runId"]))
        for part, span in parts.items():
            asked = {"firstOffset": span["from"], "lastOffset": span["to"] - 1}
            found = server.api.get("/reached", nodeId=topic, partition=part, **asked)
            (job,) = found["jobs"]
            assert (job["exact"], job["outputs"][0]["snapshots"]) == (True, [id_])
            (run,) = job["runs"]  # and not those that repeat its commits
            runs.add((drivers[id_], run["runId"]))
    applications, told_runs = ({*side} for side in zip(*runs, strict=True))
    assert len(runs) == len(applications) == len(told_runs) >= 2  # each driver is one run


def _drivers(spark: SparkSession) -> dict[str, str]:
    """The application that made each snapshot, by the table itself."""
    rows = spark.sql(
        "SELECT snapshot_id, summary['spark.app.id'] FROM kept.db.records.snapshots"
    ).collect()
    return {str(snapshot): application for snapshot, application in rows}
