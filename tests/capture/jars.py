"""Spark's jars for the tests of capture, from the project's own lock."""

import os

import pyspark

from headwater.stack import Settings, java_home, spark_jars
from headwater.stack.spark import SPARK_SETS

# Where `make matrix` runs the tests on another Spark than the project's own.
_OLDER = {"3.5": ("spark-3-5",), "4.0": ("spark-4-0",)}


def find_java() -> Settings:
    """See that Spark finds a Java, here and in applications that are started from here."""
    settings = Settings.read(os.environ)
    os.environ["JAVA_HOME"] = str(java_home(settings))
    return settings


def prepare_spark() -> str:
    """A value for `spark.jars`; see that Spark finds a Java."""
    settings = find_java()
    sets = _OLDER.get(pyspark.__version__[:3], SPARK_SETS)
    return ",".join(map(str, spark_jars(settings, sets=sets)))
