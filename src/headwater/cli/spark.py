"""What commands that start Spark take from the platform that is up, or from the environment."""

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from headwater.errors import NotUp, PipelineExtraMissing


def prepare() -> Mapping[str, str]:
    """Fill this process's environment with the platform's addresses; the configuration for Spark.

    What the environment says already stays: someone wants another Kafka, say.
    """
    from headwater.stack import Settings, environment, java_home, running, spark_conf, spark_jars

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


def with_extra(command: Callable[..., None]) -> Callable[..., None]:
    """Tell which package is missing when Headwater was installed without the extra."""

    @functools.wraps(command)
    def told(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("headwater"):
                raise
            raise PipelineExtraMissing(error.name or "?") from error

    return told
