"""A folder that an earlier version wrote, with Spark's log of files, is taken over as it is."""

from pathlib import Path

from pyspark.sql import functions as F

from headwater.pipeline import kafka
from headwater.pipeline.targets import Target
from pipeline.lab import Lab
from pipeline.plain import BUCKET, Plain, sink
from stack.platform import Platform


def test_a_folder_with_a_log_of_files_goes_on_without_it(lab: Lab, platform: Platform) -> None:
    plain = Plain(platform)
    plain.topic("adopted")
    place = f"s3a://{BUCKET}/adopted"
    checkpoint = lab.checkpoint("adopts", Target("adopted", place))
    plain.make_bucket()
    records = kafka.read_stream(lab.spark, lab.settings.bootstrap, "adopted")
    value = F.from_json(F.col("value").cast("string"), "id BIGINT, day STRING")
    query = (
        records.select(value.alias("value"), "partition")
        .select("value.*", "partition")
        .writeStream.format("json")
        .partitionBy("partition")
        .option("path", place)
        .option("checkpointLocation", checkpoint)
        .start()
    )
    for start in range(0, 120, 10):  # more than ten batches: the log is compacted
        plain.send("adopted", range(start, start + 10))
        query.processAllAvailable()
    query.stop()
    # Cut off: the last batch is in the folder's log and not in the query's own, and a file of a
    # batch that was cut short before lies in the folder.
    commits = Path(checkpoint, "commits")
    last = max(int(one.name) for one in commits.iterdir() if one.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)
    plain.put("adopted/partition=0/part-00000-left-c000.json", b'{"id": 7}\n')

    lab.start("adopts", sink("adopted"))
    plain.send("adopted", range(120, 130))
    lab.wait(lambda: plain.once("adopted/", ids=range(130)))
    assert not [key for key in plain.keys("adopted/") if "_spark_metadata" in key]
    assert lab.spark.read.json(place).count() == 130
