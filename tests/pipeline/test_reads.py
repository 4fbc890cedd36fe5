"""A batch read of Kafka carries the offsets that it read."""

from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

import headwater
from capture.receiver import Receiver
from stack.platform import Platform


def test_batch_read_of_a_topic_tells_its_offsets(
    spark: SparkSession, platform: Platform, tmp_path: Path
) -> None:
    servers = platform.variables()["KAFKA_BOOTSTRAP_SERVERS"]
    rows = spark.range(40).selectExpr("cast(id as string) as value", "int(id % 2) as partition")
    topic = {"kafka.bootstrap.servers": servers, "topic": "counted"}
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("counted", 2)])["counted"].result(60)
    rows.write.format("kafka").options(**topic).save()
    receiver = Receiver()
    capture = headwater.attach(spark, url=receiver.url, spool_dir=str(tmp_path / "spool"))
    try:
        read = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", servers)
            .option("subscribe", "counted")
            .option("startingOffsets", '{"counted": {"0": 3, "1": -2}}')
            .option("endingOffsets", '{"counted": {"0": 11, "1": 20}}')
            .option("minPartitions", "6")
            .load()
        )
        sums = read.groupBy("partition").agg({"offset": "max"}).toDF("part", "last")
        sums.write.parquet(str(tmp_path / "sums"))
        whole = {"kafka.bootstrap.servers": servers, "subscribe": "counted"}
        records = spark.read.format("kafka").options(**whole).load()
        records.select("offset").write.parquet(str(tmp_path / "whole"))
        # The scan ends before the topic does, as it seems if records come during a read.
        records.select("offset").limit(5).write.parquet(str(tmp_path / "some"))
        receiver.wait_for(lambda found: all(_ends(found, n) for n in ("sums", "whole", "some")))
    finally:
        capture.detach()
        receiver.close()
    source = _source(receiver, "sums")
    assert source["startOffset"] == {"counted": {"0": 3, "1": 0}}
    assert source["endOffset"] == {"counted": {"0": 11, "1": 20}}
    source = _source(receiver, "whole")
    assert source["startOffset"] == {"counted": {"0": 0, "1": 0}}
    assert source["endOffset"] == {"counted": {"0": 20, "1": 20}}
    assert "latestOffset" not in source
    source = _source(receiver, "some")
    assert source["startOffset"] == source["endOffset"] == {}
    assert source["latestOffset"] == {"counted": {"0": 20, "1": 20}}


def _source(receiver: Receiver, tail: str) -> dict[str, Any]:
    (end,) = _ends(receiver, tail)
    (source,) = end["run"]["facets"]["headwater_progress"]["sources"]
    found: dict[str, Any] = source
    return found


def _ends(receiver: Receiver, tail: str) -> list[dict[str, Any]]:
    return [
        event
        for event in [*receiver.events]
        if event["eventType"] == "COMPLETE" and event["job"]["name"].endswith(tail)
    ]
