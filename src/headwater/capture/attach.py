"""`headwater.attach`: from here on, everything that a Spark session does is observed."""

import os
import threading
from typing import TYPE_CHECKING, Any

from headwater.capture.guard import Guard
from headwater.capture.settings import PREFIX, read_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.capture.classic import Capture
    from headwater.capture.connect import ConnectCapture

_attached: dict[int, "Capture | ConnectCapture"] = {}
_lock = threading.Lock()
_guard = Guard()


class Detached:
    """Stands for a capture that observes nothing."""

    def detach(self) -> None:
        """Do nothing."""


def attach(spark: "SparkSession", **arguments: Any) -> "Capture | ConnectCapture | Detached":
    """Observe a Spark session; settings not given come from Spark's conf and the environment.

    Attaching twice to one Spark context, or to one session of Spark Connect, is the same as
    attaching once.

    Raises:
        BadSetting: a setting that cannot be used.

    """
    return attach_to(spark, arguments)


def attach_to(
    spark: "SparkSession", arguments: dict[str, Any], *, jvm_is_driver: bool = False
) -> "Capture | ConnectCapture | Detached":
    """Observe a session, which may be one that an application inside the JVM has made."""
    is_classic = hasattr(spark, "_jsparkSession")
    key = id(spark.sparkContext) if is_classic else id(spark)
    settings = read_settings(arguments, _conf(spark) if is_classic else {}, os.environ)
    if settings.disabled:
        return Detached()

    def observe() -> None:
        ended = lambda: _attached.pop(key, None)  # noqa: E731
        if is_classic:
            from headwater.capture.classic import Capture  # noqa: PLC0415 - it needs a JVM

            _attached[key] = Capture(spark, settings, ended, jvm_is_driver=jvm_is_driver)
        else:
            from headwater.capture.connect import ConnectCapture  # noqa: PLC0415

            _attached[key] = ConnectCapture(spark, settings, ended)

    with _lock:
        if key not in _attached:
            _guard.run("attaching", observe)
        return _attached.get(key) or Detached()


def _conf(spark: "SparkSession") -> dict[str, str]:
    conf = spark.sparkContext.getConf().getAll()
    return {key: value for key, value in conf if key.startswith((PREFIX, "spark.openlineage."))}
