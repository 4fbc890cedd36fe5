"""The job `lineage-archive`: OpenLineage events of a topic into the table `lineage.events`."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from headwater.pipeline import kafka, tables
from headwater.pipeline.formats.converters import Ids
from headwater.pipeline.settings import Settings
from headwater.pipeline.sinks.iceberg import append

NAME = "lineage-archive"
TABLE = "lineage.events"
COLUMNS = (
    "event_time TIMESTAMP, event_type STRING, run_id STRING, job_namespace STRING, "
    "job_name STRING, producer STRING, event STRING"
)
_TOPIC = "openlineage.events"
_PERIOD_MS = 10_000


def archived(records: DataFrame, *kept: str) -> DataFrame:
    """Events with the columns one asks for; what is no event keeps the moment it was sent.

    `kept` are columns of the records that stay beside these.
    """
    text = F.col("value").cast("string")

    def at(path: str) -> Column:
        return F.get_json_object(text, f"$.{path}")

    moment = F.coalesce(F.try_to_timestamp(at("eventTime")), F.col("timestamp"))
    return records.select(
        *kept,
        moment.alias("event_time"),
        at("eventType").alias("event_type"),
        at("run.runId").alias("run_id"),
        at("job.namespace").alias("job_namespace"),
        at("job.name").alias("job_name"),
        at("producer").alias("producer"),
        text.alias("event"),
    )


def start(
    spark: SparkSession, settings: Settings, _ids: Ids, checkpoint: str
) -> StreamingQuery | None:
    """Start the query."""
    bootstrap = settings.need("bootstrap", "Kafka")
    source = settings.input_topic or _TOPIC
    kafka.ensure_topics(bootstrap, [source])
    tables.configure_catalog(spark, settings.catalog, tables.catalog_options(settings))
    table = f"{settings.catalog}.{TABLE}"
    tables.ensure_table(spark, tables.Table.of(table, COLUMNS, "days(event_time)", settings))
    events = archived(kafka.read_stream(spark, bootstrap, source))
    return append(events, settings.job_name or NAME, table, checkpoint, _PERIOD_MS)


if __name__ == "__main__":
    from headwater.pipeline.jobs.run import main

    main(NAME)
