"""What commands that read a table or a topic open: a server's client, Spark, and settings."""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from headwater.cli.spark import prepare
from headwater.errors import SparkFailed, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.cli.client import Client
    from headwater.pipeline.settings import Settings

_CONF = {
    "spark.eventLog.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    # As the pipeline's jobs have it: days and hours of rows are those of UTC.
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
    # Each broadcast of a plan that is kept holds a page: by default, 10 MB of this heap.
    "spark.buffer.pageSize": "1m",
    # Days before 1582 keep their dates.
    "spark.sql.datetime.java8API.enabled": "true",
    # A JVM that answers one question compiles quickly instead of well: a third less time.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
# They log on stderr, as JSON, what is raised as well.
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_SHOWN = 2_000  # characters of what a JVM wrote before it ended


class Tracing(NamedTuple):
    """What a command traces with."""

    client: "Client"
    spark: "SparkSession"
    settings: "Settings"

    def full_name(self, table: str) -> str:
        """A table's name with its catalog.

        Raises: UsageError.
        """
        from headwater.pipeline.sql import parts

        try:
            found = parts(table)
        except ValueError as error:
            raise UsageError(str(error), hint="Name a table such as default.orders") from None
        whole = found if len(found) > 2 else (self.settings.catalog, *found)
        return ".".join(_quoted(one) for one in whole)


@contextmanager
def tracing(server: str, master: str, catalog: str | None) -> Iterator[Tracing]:
    """Open what a command traces with, and close it with the command.

    Raises: SparkFailed.
    """
    from headwater.cli.client import Client
    from headwater.pipeline.settings import Settings
    from headwater.pipeline.tables import catalog_options, configure_catalog

    with Client(server) as client, trace_session(master) as spark:
        settings = Settings.read(os.environ, catalog=catalog)
        configure_catalog(spark, settings.catalog, catalog_options(settings))
        yield Tracing(client, spark, settings)


@contextmanager
def trace_session(master: str) -> Iterator["SparkSession"]:
    """A session with the platform's catalog, whose JVM writes nothing on the terminal.

    Raises: SparkFailed.
    """
    from headwater.pipeline.worker.serve import session

    for name in _LOGGERS:
        logging.getLogger(name).disabled = True
    conf = {**prepare(), **_CONF}
    with tempfile.TemporaryFile() as log:
        try:
            with _stderr_into(log):
                spark = session(master, "headwater-trace", conf)
        except Exception as error:
            log.seek(0)
            told = log.read().decode(errors="replace")[-_SHOWN:]
            raise SparkFailed(str(error), told) from error
        try:
            yield spark
        finally:
            with suppress(Exception):  # the answer is there, whatever the JVM does at its end
                spark.stop()


@contextmanager
def _stderr_into(log: "IO[bytes]") -> Iterator[None]:
    """Let processes that are started meanwhile write their errors into a file."""
    saved = os.dup(2)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _quoted(part: str) -> str:
    return part if part.replace("_", "a").isalnum() else "`" + part.replace("`", "``") + "`"
