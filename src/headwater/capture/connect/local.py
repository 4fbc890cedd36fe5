"""A server of Spark Connect in the client's own process, whose sessions can be observed.

With `remote("local")`, and for declarative pipelines, PySpark starts a classic session with the
server as a plugin. The client's session is another one inside that server.
"""

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.capture.spark.jvm import Java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class LocalServer(NamedTuple):
    """The classic session that started a server, and the JVM's session of a client of it."""

    spark: "SparkSession"
    session: Java


def local_server(client: Any) -> LocalServer | None:
    """The server of a client's session, if it runs in this process."""
    if "SPARK_LOCAL_REMOTE" not in os.environ:
        return None
    from pyspark.sql import SparkSession  # noqa: PLC0415 - a client may have no classic PySpark

    spark: Any = SparkSession._instantiatedSession
    if spark is None or spark.sparkContext._jsc is None:
        return None
    service = spark._jvm.org.apache.spark.sql.connect.service
    holder = service.SparkConnectService.getOrCreateIsolatedSession(
        client.client._user_id or "", client.session_id, spark._jvm.scala.Option.empty()
    )
    return LocalServer(spark, holder.session())
