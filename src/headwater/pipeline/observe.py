"""Has capture observe the pipeline's own Spark sessions, when there is a server to tell."""

import os

from pyspark.sql import SparkSession

from headwater.capture.attach import attach

_KEY = "spark.headwater.url"


def observe(spark: SparkSession) -> None:
    """Report the lineage of everything the session runs, if a lineage server is named."""
    if os.environ.get("OPENLINEAGE_URL") or spark.conf.get(_KEY, None):
        attach(spark)
