"""`headwater.attach`: from here on, everything that a Spark session does is observed."""

import os
import threading
from typing import TYPE_CHECKING, Any

from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.settings import PREFIX, read_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.capture.classic import Capture
    from headwater.capture.connect import ConnectCapture
    from headwater.capture.connect.local import LocalServer

_attached: dict[int, "Capture | ConnectCapture"] = {}
_lock = threading.Lock()
_barrier = FaultBarrier()


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
    spark: "SparkSession", arguments: dict[str, Any], *, main_class: str = ""
) -> "Capture | ConnectCapture | Detached":
    """Observe a session, which may be one that a main class inside the JVM has made."""
    is_classic = hasattr(spark, "_jsparkSession")
    server = None if is_classic else _local_server(spark)
    if server is not None:
        capture = attach_to(server.spark, arguments)
        if hasattr(capture, "listen_in"):
            _barrier.run("a session of Spark Connect", lambda: capture.listen_in(server.session))
        return capture
    key = id(spark.sparkContext) if is_classic else id(spark)
    if (known := _attached.get(key)) is not None:  # without reading all of Spark's conf again
        return known
    settings = read_settings(arguments, _conf(spark) if is_classic else {}, os.environ)
    if settings.disabled:
        return Detached()

    def observe() -> None:
        ended = lambda: _attached.pop(key, None)  # noqa: E731
        if is_classic:
            from headwater.capture.classic import Capture  # noqa: PLC0415 - it needs a JVM

            _attached[key] = Capture(spark, settings, ended, main_class=main_class)
        else:
            from headwater.capture.connect import ConnectCapture  # noqa: PLC0415

            _attached[key] = ConnectCapture(spark, settings, ended)

    with _lock:
        if key not in _attached:
            _barrier.run("attaching", observe)
        return _attached.get(key) or Detached()


def _local_server(spark: "SparkSession") -> "LocalServer | None":
    from headwater.capture.connect.local import local_server  # noqa: PLC0415

    found: list[LocalServer | None] = []
    _barrier.run("looking for a local server", lambda: found.append(local_server(spark)))
    return found[0] if found else None


def _conf(spark: "SparkSession") -> dict[str, str]:
    conf = spark.sparkContext.getConf().getAll()
    return {key: value for key, value in conf if key.startswith((PREFIX, "spark.openlineage."))}
