"""Has capture observe the pipeline's own Spark sessions, when there is a server to tell."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from headwater.capture.attach import attach
from headwater.capture.classic import Capture

_KEY = "spark.headwater.url"


def observe(spark: SparkSession) -> Capture | None:
    """Report the lineage of everything the session runs, if a lineage server is named."""
    if os.environ.get("OPENLINEAGE_URL") or spark.conf.get(_KEY, None):
        capture = attach(spark)
        return capture if isinstance(capture, Capture) else None
    return None


def report_failed_start(spark: SparkSession, name: str, error: BaseException) -> None:
    """Report a streaming job that failed before its query existed."""
    capture = observe(spark)
    if capture is not None:
        capture.could_not_start(name, error)


@contextmanager
def observed(spark: SparkSession, job: str) -> Iterator[SparkSession]:
    """A session in which a batch job is told under its own name, beside what else runs here."""
    capture = observe(spark)
    if capture is None:
        yield spark
        return
    with capture.part(job) as session:
        yield session
