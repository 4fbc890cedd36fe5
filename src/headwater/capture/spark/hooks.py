"""Lets capture be told what happens in a Spark session, and takes itself out again."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headwater.capture.spark.jvm import Java
from headwater.capture.spark.listeners import ActionListener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GONE = (Py4JError, PySparkException, OSError)


class Hooks:
    """Everything of capture's that sits inside one Spark session."""

    def __init__(
        self,
        spark: "SparkSession",
        action: ActionListener,
        *,
        on_stop: Callable[[], object],
        on_query_start: Callable[[Java], object],
        on_query_stop: Callable[[str], object],
        on_query_end: Callable[[str], object],
    ) -> None:
        context: Any = spark.sparkContext
        self._context, self._gateway = context, context._gateway
        self._session: Any = spark._jsparkSession
        _start_callbacks(self._gateway)
        self._action = action
        self._session.listenerManager().register(action)
        self._stop = context.stop
        context.stop = self._wrap_stop(on_stop)
        # Writers and queries are Python objects made anew for each use: only a class can be told.
        self._replaced = [
            _replace(DataStreamWriter, "start", lambda made: _starting(made, on_query_start)),
            _replace(DataStreamWriter, "toTable", lambda made: _starting(made, on_query_start)),
            _replace(
                StreamingQuery, "stop", lambda made: _stopping(made, on_query_stop, on_query_end)
            ),
            _replace(
                StreamingQuery, "awaitTermination", lambda made: _awaiting(made, on_query_end)
            ),
        ]

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
        for owner, name, original in self._replaced:
            setattr(owner, name, original)
        self._context.__dict__.pop("stop", None)
        if self.jvm_exit_code() is not None or self._context._jsc is None:
            return
        try:
            self._session.listenerManager().unregister(self._action)
        except _GONE:
            return

    def _wrap_stop(self, on_stop: Callable[[], object]) -> Callable[[], None]:
        original = self._stop

        def stop() -> None:
            on_stop()
            original()

        return stop


_Function = Callable[..., Any]


def _replace(
    owner: type, name: str, wrap: Callable[[_Function], _Function]
) -> tuple[type, str, _Function]:
    """Put another function in a method's place; give what to put back."""
    original: _Function = getattr(owner, name)
    setattr(owner, name, wrap(original))
    return owner, name, original


def _starting(original: _Function, on_start: Callable[[Java], object]) -> _Function:
    @wraps(original)
    def start(*arguments: Any, **more: Any) -> Any:
        query = original(*arguments, **more)
        on_start(query._jsq)
        return query

    return start


def _stopping(
    original: _Function, on_stop: Callable[[str], object], on_end: Callable[[str], object]
) -> _Function:
    @wraps(original)
    def stop(query: StreamingQuery) -> None:
        on_stop(str(query.runId))
        original(query)
        on_end(str(query.runId))

    return stop


def _awaiting(original: _Function, on_end: Callable[[str], object]) -> _Function:
    @wraps(original)
    def await_termination(query: StreamingQuery, *arguments: Any, **more: Any) -> Any:
        try:
            is_over = original(query, *arguments, **more)
        except Exception:  # not an interrupt: then the connection to the JVM is in mid-answer
            on_end(str(query.runId))
            raise
        on_end(str(query.runId))
        return is_over

    return await_termination


def _start_callbacks(gateway: Any) -> None:
    """Let the JVM call back; pyspark does this itself for its own listeners."""
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
