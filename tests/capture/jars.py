"""Spark's jars for the tests of capture, from the project's own lock."""

import os

from headwater.stack import Settings, java_home, spark_jars


def prepare_spark() -> str:
    """A value for `spark.jars`; see that Spark finds a Java."""
    settings = Settings.read(os.environ)
    os.environ["JAVA_HOME"] = str(java_home(settings))
    return ",".join(map(str, spark_jars(settings)))
