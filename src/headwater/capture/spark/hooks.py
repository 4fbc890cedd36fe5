"""Puts capture's listeners into a Spark session, and takes them out again."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql.streaming.query import StreamingQuery

from headwater.capture.spark.listeners import ActionListener, StreamingListener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GONE = (Py4JError, PySparkException, OSError)


class Hooks:
    """Everything of capture's that sits inside one Spark session."""

    def __init__(
        self,
        spark: "SparkSession",
        streaming: StreamingListener,
        action: ActionListener,
        *,
        on_stop: Callable[[], object],
        on_query_stop: Callable[[str], object],
    ) -> None:
        context: Any = spark.sparkContext
        self._context, self._gateway = context, context._gateway
        self._session: Any = spark._jsparkSession
        _start_callbacks(self._gateway)
        self._action = action
        wrapper = context._jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper
        self._streaming = wrapper(streaming)
        self._session.streams().addListener(self._streaming)
        self._session.listenerManager().register(action)
        self._stop, self._query_stop = context.stop, StreamingQuery.stop
        context.stop = self._wrap_stop(on_stop)
        _set_query_stop(_wrap_query_stop(self._query_stop, on_query_stop))

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
        """Take the listeners out, if there still is something to take them out of."""
        _set_query_stop(self._query_stop)
        self._context.__dict__.pop("stop", None)
        if self.jvm_exit_code() is not None or self._context._jsc is None:
            return
        try:
            self._session.streams().removeListener(self._streaming)
            self._session.listenerManager().unregister(self._action)
        except _GONE:
            return

    def _wrap_stop(self, on_stop: Callable[[], object]) -> Callable[[], None]:
        original = self._stop

        def stop() -> None:
            on_stop()
            original()

        return stop


def _set_query_stop(stop: Callable[[StreamingQuery], None]) -> None:
    """Queries are Python objects made anew for each use, so only their class can be told."""
    StreamingQuery.stop = stop  # type: ignore[method-assign, assignment]


def _wrap_query_stop(
    original: Callable[[StreamingQuery], None], on_stop: Callable[[str], object]
) -> Callable[[StreamingQuery], None]:
    def stop(query: StreamingQuery) -> None:
        on_stop(str(query.runId))
        original(query)

    return stop


def _start_callbacks(gateway: Any) -> None:
    """Let the JVM call back; pyspark does this itself for its own listeners."""
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
