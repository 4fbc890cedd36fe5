"""The S3 sink: a topic's records as JSON, Avro or Parquet objects, each exactly once."""

import re
from collections.abc import Callable

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from headwater.errors import BadConfig
from headwater.pipeline import kafka
from headwater.pipeline.config import ConnectorConfig
from headwater.pipeline.flows import Flow, Intake, Site, flow_name
from headwater.pipeline.formats.converters import Ids, converter_of
from headwater.pipeline.sinks import filelog
from headwater.pipeline.transforms import check

_FORMATS = {"JsonFormat": "json", "ParquetFormat": "parquet", "AvroFormat": "avro"}
_PERIOD_MS = 10_000
_FLUSH = 100_000
_DIRECTORY = re.compile(r"'([\w-]+)'=([^/]+)")


def flows(config: ConnectorConfig, site: Site) -> list[Flow]:
    """A flow for each topic."""
    check(config)
    kind = file_format(config)
    topics = config.names("topics")
    converter = converter_of(config, site.settings)
    found = []
    for topic in topics:
        intake = Intake(site, config, converter, topic)
        name = flow_name(config, topic, len(topics))
        found.append(Flow(name, _starter(intake, name, kind), converter.knows, config.tolerant))
        found += intake.dead_letters()
    return found


def location(config: ConnectorConfig, topic: str) -> str:
    """Where a topic's objects are."""
    folder = config.get("topics.dir", "topics").strip("/")
    parts = (config.get("s3.bucket.name"), folder, topic)
    return "s3a://" + "/".join(part for part in parts if part)


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
    wanted = [F.col(f"value.{name}").alias(name) for name in fields]
    return records.select(*wanted, *(c.alias(n) for n, c in folders.items())), list(folders)


def ensure_bucket(spark: SparkSession, bucket: str) -> None:
    """Create a bucket that does not exist yet, through the client that Spark itself uses."""
    jvm, hadoop = spark._jvm, spark._jsc.hadoopConfiguration()
    assert jvm is not None  # noqa: S101 (a session over py4j has one)
    system = jvm.org.apache.hadoop.fs.Path(f"s3a://{bucket}/").getFileSystem(hadoop)
    client = system.getS3AInternals().getAmazonS3Client("see that the bucket is there")
    names = {one.name() for one in client.listBuckets().buckets()}
    if bucket not in names:
        requests = jvm.software.amazon.awssdk.services.s3.model.CreateBucketRequest
        client.createBucket(requests.builder().bucket(bucket).build())


def _starter(intake: Intake, name: str, kind: str) -> Callable[[Ids, str], StreamingQuery | None]:
    config, spark = intake.config, intake.site.spark

    def start(ids: Ids, checkpoint: str) -> StreamingQuery | None:
        records = intake.values(ids)
        if records is None:
            return None
        ensure_bucket(spark, config.get("s3.bucket.name"))
        _go_on(intake, checkpoint)
        frame, folders = laid_out(records, config)
        period = config.number("rotate.schedule.interval.ms", _PERIOD_MS)
        writer = (
            frame.writeStream.format(kind)
            .queryName(name)
            .option("path", location(config, intake.topic))
            .option("checkpointLocation", checkpoint)
            .option("maxRecordsPerFile", config.number("flush.size", _FLUSH))
            .options(**config.dataset_options(intake.topic))
            .trigger(processingTime=f"{period} milliseconds")
        )
        return (writer.partitionBy(*folders) if folders else writer).start()

    return start


def _go_on(intake: Intake, checkpoint: str) -> None:
    """See that a new checkpoint goes on after what is in the folder already."""
    spark, topic = intake.site.spark, intake.topic
    last = filelog.last_batch(spark, location(intake.config, topic))
    if last is None or filelog.has_begun(spark, checkpoint):
        return
    first = kafka.first_offsets(intake.site.settings.bootstrap, topic)
    start = {**first, **intake.site.starts.get(topic, {})}
    filelog.begin_after(spark, checkpoint, last, topic, start)


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
