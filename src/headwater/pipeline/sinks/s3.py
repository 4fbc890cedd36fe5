"""The S3 sink: a topic's records as JSON, Avro or Parquet objects, each exactly once."""

import hashlib
import re
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from headwater.errors import BadConfig
from headwater.pipeline.commitlog import CommitLog
from headwater.pipeline.config import ConnectorConfig
from headwater.pipeline.failures import without_frames
from headwater.pipeline.flows import Flow, PipelineContext, Start, TopicReader, flow_name
from headwater.pipeline.formats.converters import converter_of
from headwater.pipeline.sinks import filelog
from headwater.pipeline.sinks.objects import CUT, ObjectStore, Stored, TopicObjects
from headwater.pipeline.sql import quoted
from headwater.pipeline.targets import Target, folder
from headwater.pipeline.transforms import check

_FORMATS = {"JsonFormat": "json", "ParquetFormat": "parquet", "AvroFormat": "avro"}
PARTITION, OFFSET = "_headwater_partition", "_headwater_offset"
STAGING = ".headwater/staging"
_COMMITTERS = "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory"
_DIRECTORY = re.compile(r"'([\w-]+)'=([^/]+)")


def flows(config: ConnectorConfig, context: PipelineContext) -> list[Flow]:
    """A flow for each topic."""
    check(config)
    kind = file_format(config)
    topics = config.names("topics")
    converter = converter_of(config, context.settings)
    found = []
    for topic in topics:
        reader = TopicReader(context, config, converter, topic)
        name = flow_name(config, topic, len(topics))
        start, target = _starter(reader, name, kind), Target(topic, folder(config, topic))
        found.append(Flow(name, start, target, converter.knows, config.tolerant))
    for topic in topics:
        found += TopicReader(context, config, converter, topic).dead_letters()
    return found


def file_format(config: ConnectorConfig) -> str:
    """Spark's name of the objects' format.

    Raises:
        BadConfig: the format is not one of the three.

    """
    name = config.get("format.class", "JsonFormat").rpartition(".")[2]
    if name not in _FORMATS:
        reason = f"{name!r} is none of {', '.join(_FORMATS)}"
        raise BadConfig(config.name, {"format.class": reason})
    return _FORMATS[name]


def laid_out(records: DataFrame, config: ConnectorConfig) -> tuple[DataFrame, list[str]]:
    """A record's fields with the columns that name its folder, and those columns' names."""
    folders = _folders(config)
    # A field that names the folder is in the path, and Spark reads it back from there.
    fields = [name for name in records.select("value.*").columns if name not in folders]
    wanted = [F.col("value")[name].alias(name) for name in fields]
    place = (F.col("partition").alias(PARTITION), F.col("offset").alias(OFFSET))
    named = [column.alias(name) for name, column in folders.items()]
    return records.select(*wanted, *named, *place), list(folders)


def ensure_bucket(spark: SparkSession, bucket: str) -> None:
    """Create a bucket that does not exist yet, through the client that Spark itself uses."""
    jvm, hadoop = spark._jvm, spark._jsc.hadoopConfiguration()
    assert jvm is not None  # noqa: S101 (a session over py4j has one)
    system = jvm.org.apache.hadoop.fs.Path(f"s3a://{bucket}/").getFileSystem(hadoop)
    client = system.getS3AInternals().getAmazonS3Client("see that the bucket is there")
    if bucket in _buckets(client):
        return
    requests = jvm.software.amazon.awssdk.services.s3.model.CreateBucketRequest
    try:
        client.createBucket(requests.builder().bucket(bucket).build())
    except Py4JJavaError:
        if bucket not in _buckets(client):  # else another connector was quicker
            raise


def _buckets(client: Any) -> set[str]:
    return {str(one.name()) for one in client.listBuckets().buckets()}


def _starter(reader: TopicReader, name: str, kind: str) -> Callable[[Start], StreamingQuery | None]:
    config, spark = reader.config, reader.context.spark

    def start(start: Start) -> StreamingQuery | None:
        # One task for each partition: an object holds records of one of them, in their order.
        records = reader.values(start, split=False)
        if records is None:
            return None
        ensure_bucket(spark, config.get("s3.bucket.name"))
        filelog.adopt(spark, folder(config, reader.topic), start.checkpoint)
        frame, folders = laid_out(records, config)
        period = config.number("rotate.schedule.interval.ms")
        writer = BatchWriter(reader, kind, folders, start.checkpoint)
        return (
            frame.writeStream.foreachBatch(writer.write)
            .queryName(name)
            .option("checkpointLocation", start.checkpoint)
            .trigger(processingTime=f"{period} milliseconds")
            .start()
        )

    return start


class BatchWriter:
    """Writes the batches of one query, each of them any number of times with the same result."""

    def __init__(self, reader: TopicReader, kind: str, folders: list[str], checkpoint: str) -> None:
        config, spark, topic = reader.config, reader.context.spark, reader.topic
        self._kind, self._folders = kind, folders
        self._flush = config.number("flush.size")
        self._topic, self._bucket = topic, config.get("s3.bucket.name")
        location = folder(config, topic)
        self._options = {
            **config.dataset_options(topic),
            "headwater.dataset.location": location,
            **_compression(config, kind),
            # Staged files have the same names in each attempt of a task: none needs a rename.
            "mapreduce.outputcommitter.factory.scheme.s3a": _COMMITTERS,
            "fs.s3a.committer.name": "magic",
            "mapreduce.fileoutputcommitter.algorithm.version": "2",
            "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        }
        self._log = CommitLog(spark, checkpoint)
        self._objects = TopicObjects(ObjectStore(spark, self._bucket), location, topic)
        digest = hashlib.sha256(f"{checkpoint} {location}".encode()).hexdigest()[:16]
        self._staging = f"{STAGING}/{digest}/"
        # What an earlier pass over the same offsets has left; known when the first batch comes.
        self._left: list[Stored] | None = None

    def write(self, batch: DataFrame, number: int) -> None:
        """Write a batch: into the staging folder, then under the final names."""
        try:
            self._write(batch, number)
        except Py4JJavaError as error:
            raise RuntimeError(without_frames(str(error))) from None

    def _write(self, batch: DataFrame, number: int) -> None:
        starts = self._log.starts(number).get(self._topic, {})
        ends = self._log.ends(number).get(self._topic, {})
        if self._left is None:
            self._left = self._objects.from_offsets(starts)
            self._objects.store.remove(self._objects.store.keys(self._staging))
        staging = f"{self._staging}{number}/"
        staged = batch.withColumn(CUT, _cut(starts, self._flush))
        staged = staged.sortWithinPartitions(CUT, *self._folders, OFFSET)
        fields = [one for one in staged.columns if one not in (PARTITION, OFFSET)]
        (
            staged.select(*(F.col(quoted((name,))) for name in fields))
            .write.format(self._kind)
            .mode("append")
            .partitionBy(CUT, *self._folders)
            .options(**self._options)
            .save(f"s3a://{self._bucket}/{staging}")
        )
        written, staged_keys = self._objects.publish(staging)
        passed = [one for one in self._left if one.first < ends.get(one.partition, 0)]
        stale = [one.key for one in passed if one.key not in written]
        self._left = [one for one in self._left if one not in passed]
        self._objects.store.remove([*stale, *staged_keys])


def _compression(config: ConnectorConfig, kind: str) -> dict[str, str]:
    codec = config.get("avro.codec")
    if kind != "avro" or not codec:
        return {}
    return {"compression": "uncompressed" if codec == "null" else codec}


def _cut(starts: dict[int, int], size: int) -> Column:
    """The partition, and the offset at which the object of a record begins."""
    pairs = [
        one
        for number, offset in starts.items()
        for one in (F.lit(number).cast("int"), F.lit(offset).cast("bigint"))
    ]
    known = F.create_map(*pairs)[F.col(PARTITION)] if pairs else F.lit(None)
    first = F.coalesce(known.cast("bigint"), F.lit(0))
    offset = F.col(OFFSET)
    begins = offset - (offset - first) % F.lit(size)
    return F.concat_ws("-", F.col(PARTITION).cast("string"), begins.cast("string"))


def _folders(config: ConnectorConfig) -> dict[str, Column]:
    kind = config.get("partitioner.class", "DefaultPartitioner").rpartition(".")[2]
    if kind == "DefaultPartitioner":
        return {"partition": F.col("partition")}
    if kind == "FieldPartitioner":
        names = config.names("partition.field.name")
        return {name: F.col(f"value.{name}") for name in names}
    pattern = {
        "DailyPartitioner": "'year'=yyyy/'month'=MM/'day'=dd",
        "HourlyPartitioner": "'year'=yyyy/'month'=MM/'day'=dd/'hour'=HH",
    }.get(kind, config.get("path.format"))
    moment = F.col("timestamp")
    if config.get("timestamp.extractor") == "RecordField":
        moment = F.col(f"value.{config.get('timestamp.field')}")
    # Sessions of the pipeline have the zone UTC: what is formatted is the other zone's clock.
    clock = F.from_utc_timestamp(moment, config.get("timezone", "UTC"))
    found = _DIRECTORY.findall(pattern)
    return {name: F.date_format(clock, form.replace("Y", "y")) for name, form in found}
