"""A Spark session for commands that read a table or a topic, and end with it."""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from headwater.cli.spark import prepare
from headwater.errors import SparkFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONF = {
    "spark.eventLog.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
}
# They log on stderr, as JSON, what is raised as well.
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_SHOWN = 2_000  # characters of what a JVM wrote before it ended


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
