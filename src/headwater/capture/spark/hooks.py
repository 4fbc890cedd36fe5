"""Lets capture be told what happens in a Spark context, and takes itself out again."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started

from headwater.capture.spark.jvm import Java
from headwater.capture.spark.listeners import ActionListener
from headwater.capture.spark.python_api import Observer, PythonApi

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GONE = (Py4JError, PySparkException, OSError)


class Hooks:
    """Everything of capture's that sits inside one Spark context."""

    def __init__(
        self,
        spark: "SparkSession",
        action: ActionListener,
        observer: Observer,
        *,
        on_stop: Callable[[], object],
        listens: bool = True,
    ) -> None:
        context: Any = spark.sparkContext
        self._context, self._gateway = context, context._gateway
        _start_callbacks(self._gateway)
        self._action = action
        self._sessions: list[Java] = []
        self._listens = listens  # not, where listeners are in the JVM already
        self.listen(spark._jsparkSession)
        self._stop = context.stop
        context.stop = self._wrap_stop(on_stop)
        self._api = PythonApi(observer)
        self.is_installed = True

    def listen(self, session: Java) -> None:
        """Be told of a session's batch actions: each session has listeners of its own."""
        if self._listens:
            session.listenerManager().register(self._action)
            self._sessions.append(session)

    def drain(self, seconds: float) -> None:
        """Wait until Spark has told its listeners everything that has happened."""
        if self.jvm_exit_code() is not None or self._context._jsc is None:
            return
        try:
            self._context._jsc.sc().listenerBus().waitUntilEmpty(int(seconds * 1000))
        except _GONE:
            return  # too busy, or already stopped: what has not come will not come

    def jvm_exit_code(self) -> int | None:
        """The exit code of the driver's JVM if Python started it and it is gone."""
        process = getattr(self._gateway, "proc", None)
        return process.poll() if process is not None else None

    def remove(self) -> None:
        """Put everything back, and take the listener out of what still is there."""
        self.is_installed = False
        self._api.remove()
        self._context.__dict__.pop("stop", None)
        if self.jvm_exit_code() is not None or self._context._jsc is None:
            return
        for session in self._sessions:
            try:
                session.listenerManager().unregister(self._action)
            except _GONE:
                return

    def _wrap_stop(self, on_stop: Callable[[], object]) -> Callable[[], None]:
        original = self._stop

        def stop() -> None:
            on_stop()
            original()

        return stop


def _start_callbacks(gateway: Any) -> None:
    """Let the JVM call back; pyspark does this itself for its own listeners."""
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
