"""Kafka Connect: one distributed worker with the file and the Iceberg connectors."""

from headwater.stack.files import write_atomically
from headwater.stack.ivy import pyspark_jars
from headwater.stack.ports import HOST
from headwater.stack.service import SMALL_JVM, PlatformLayout, Service, Tool, get_json

# With any other discovery the worker scans every class: 25 s and 900 MB instead of 5 s and 230.
_PROPERTIES = """\
bootstrap.servers={kafka}
listeners=http://{host}:{port}
rest.advertised.host.name={host}
rest.advertised.port={port}
group.id=headwater-connect
config.storage.topic=_connect-configs
config.storage.replication.factor=1
offset.storage.topic=_connect-offsets
offset.storage.replication.factor=1
offset.storage.partitions=1
status.storage.topic=_connect-status
status.storage.replication.factor=1
status.storage.partitions=1
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
plugin.discovery=service_load
scheduled.rebalance.max.delay.ms=0
offset.flush.interval.ms=5000
"""

# What the Iceberg connector's Hive catalog is built upon is among pyspark's own jars.
_HIVE_CLIENT = (
    "hadoop-client-api-*.jar",
    "hadoop-client-runtime-*.jar",
    "hive-metastore-*.jar",
    "hive-common-*.jar",
    "hive-serde-*.jar",
    "hive-shims-*.jar",
    "hive-storage-api-*.jar",
    "hive-exec-*.jar",
    "libthrift-*.jar",
    "libfb303-*.jar",
    "commons-lang-2*.jar",
    "guava-*.jar",
    "failureaccess-*.jar",
)


def _prepare(layout: PlatformLayout, _run: Tool) -> None:
    properties = _PROPERTIES.format(
        kafka=layout.endpoint("kafka"), host=HOST, port=layout.ports["connect"]
    )
    write_atomically(layout.data("connect") / "worker.properties", properties)


def _command(layout: PlatformLayout) -> list[str]:
    own = layout.jars("kafka", "connect", "connect-file", "connect-iceberg", "s3a")
    hive = [jar for pattern in _HIVE_CLIENT for jar in sorted(pyspark_jars().glob(pattern))]
    classpath = ":".join(map(str, [*own, *hive]))
    logging = "-Dorg.apache.logging.log4j.level=INFO"
    worker = "org.apache.kafka.connect.cli.ConnectDistributed"
    options = ["-Xms64m", "-Xmx512m", *SMALL_JVM, logging, "-cp", classpath]
    return [layout.java, *options, worker, str(layout.data("connect") / "worker.properties")]


def _probe(layout: PlatformLayout) -> None:
    get_json(f"http://{layout.endpoint('connect')}/connectors")


CONNECT = Service(
    name="connect",
    title="Kafka Connect",
    port=8083,
    scheme="http://",
    sets=("kafka", "connect", "connect-file", "connect-iceberg", "s3a"),
    needs=("kafka",),
    prepare=_prepare,
    command=_command,
    probe=_probe,
)
