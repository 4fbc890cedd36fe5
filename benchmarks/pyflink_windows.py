"""The lab's windows as a PyFlink job that ends with the topic, twice: how many seconds each took.

Run in an environment of its own.
"""

import json
import sys
import time

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

bootstrap, registry, *jars = sys.argv[1:]
settings = Configuration()
settings.set_string("pipeline.jars", ";".join(f"file://{jar}" for jar in jars))
settings.set_string("parallelism.default", "2")
settings.set_string("table.local-time-zone", "UTC")
# A topic of one partition leaves one of the two readers without records.
settings.set_string("table.exec.source.idle-timeout", "1 s")
table = TableEnvironment.create(
    EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(settings).build()
)
table.execute_sql(f"""
    CREATE TABLE orders (
      order_id STRING, item STRING, price DOUBLE, supplier STRING, bid_time TIMESTAMP(3),
      WATERMARK FOR bid_time AS bid_time - INTERVAL '5' SECOND
    ) WITH (
      'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = '{bootstrap}',
      'properties.group.id' = 'flink', 'scan.startup.mode' = 'earliest-offset',
      'scan.bounded.mode' = 'latest-offset',
      'format' = 'avro-confluent', 'avro-confluent.url' = '{registry}'
    )""")


def run(name: str) -> float:
    """Write the windows of all orders to a topic; from the statement until the job has ended."""
    table.execute_sql(f"""
        CREATE TABLE {name} (
          window_start TIMESTAMP(3), window_end TIMESTAMP(3), supplier STRING, total_price DOUBLE,
          `count` BIGINT
        ) WITH (
          'connector' = 'kafka', 'topic' = 'windows-flink-{name}',
          'properties.bootstrap.servers' = '{bootstrap}',
          'format' = 'avro-confluent', 'avro-confluent.url' = '{registry}'
        )""")
    began = time.monotonic()
    running = table.execute_sql(f"""
        INSERT INTO {name}
        SELECT window_start, window_end, supplier, ROUND(SUM(price), 2), COUNT(*)
        FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(bid_time), INTERVAL '5' SECOND))
        GROUP BY window_start, window_end, supplier""")
    running.wait()
    return time.monotonic() - began


print(json.dumps([run("cold"), run("warm")]))
