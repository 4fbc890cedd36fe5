"""What commands that start Spark take from the platform that is up, or from the environment."""

import os
import sys
from collections.abc import Mapping

from headwater.errors import NotUp


def prepare() -> Mapping[str, str]:
    """Fill this process's environment with the platform's addresses; the configuration for Spark.

    What the environment says already stays: someone wants another Kafka, say.
    """
    from headwater.stack import Settings, environment, java_home, running, spark_conf, spark_jars

    # Spark would take whatever `python3` is, which may lack what reads Protobuf.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = Settings.read(os.environ)
    jars = spark_jars(settings)
    try:
        state = running(settings.home)
    except NotUp:
        os.environ.setdefault("JAVA_HOME", str(java_home(settings)))
        return {"spark.jars": ",".join(str(jar) for jar in jars)}
    for name, value in environment(state).items():
        if name == "JAVA_HOME" or not os.environ.get(name):
            os.environ[name] = value
    return spark_conf(settings)
