"""Wraps the methods of PySpark's classes through which an application does what capture follows.

Frames, writers and queries are Python objects made anew for each use, so that the classes
themselves are wrapped. A wrapper calls the original first or last, returns what it returns and
raises what it raises; what capture does beside it is guarded.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

from pyspark import RDD
from pyspark.sql import SparkSession
from pyspark.sql.conf import RuntimeConfig
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headwater.capture.spark.jvm import Java

_Function = Callable[..., Any]
_SAVES = {
    "saveAsTextFile": "path",
    "saveAsPickleFile": "path",
    "saveAsSequenceFile": "path",
    "saveAsHadoopFile": "path",
    "saveAsNewAPIHadoopFile": "path",
    "saveAsHadoopDataset": "conf",
    "saveAsNewAPIHadoopDataset": "conf",
}
_OUTPUT = ("mapreduce.output.fileoutputformat.outputdir", "mapred.output.dir")


class Observer(Protocol):
    """Who is called; no method raises."""

    def query_started(self, query: Java) -> None:
        """A streaming query has started."""

    def query_stopping(self, run_id: str) -> None:
        """Someone stops a query."""

    def query_over(self, run_id: str) -> None:
        """Someone has waited for a query that is over, or has stopped it."""

    def session_made(self, session: Java, origin: Java) -> None:
        """A session was made from another one."""

    def setting_changed(self, conf: Java, name: str) -> None:
        """A setting of a session was set or removed."""

    def frame_checkpointed(self, frame: Any, result: Any) -> None:
        """A frame was checkpointed."""

    def frame_as_rdd(self, frame: Any, rdd: Any) -> None:
        """A frame's rows are used as an RDD."""

    def frame_as_pandas(self, frame: Any, result: Any) -> None:
        """A frame's rows are used as a pandas frame."""

    def frame_as_arrow(self, frame: Any) -> None:
        """A frame's rows are used as an Arrow table."""

    def frame_made(self, data: Any, frame: Any) -> None:
        """A frame was made from data of the driver."""

    def save_started(self, rdd: Any, method: str, place: str) -> str:
        """An RDD's records are about to be written; gives what the end is told by."""

    def save_ended(self, run_id: str, error: BaseException | None) -> None:
        """They are written, or could not be."""


class PythonApi:
    """The wrappers of one capture."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._replaced: list[tuple[type, str, Any]] = []
        frame = _frame_class()
        self._wrap(DataStreamWriter, "start", self._starting)
        self._wrap(DataStreamWriter, "toTable", self._starting)
        self._wrap(StreamingQuery, "stop", self._stopping)
        self._wrap(StreamingQuery, "awaitTermination", self._awaiting)
        self._wrap(SparkSession, "newSession", self._new_session)
        self._wrap(SparkSession, "createDataFrame", self._creating)
        self._wrap(RuntimeConfig, "set", self._setting)
        self._wrap(RuntimeConfig, "unset", self._setting)
        self._wrap(frame, "checkpoint", self._checkpointing)
        self._wrap(frame, "localCheckpoint", self._checkpointing)
        self._wrap(frame, "toPandas", self._to_pandas)
        if hasattr(frame, "toArrow"):  # since Spark 4
            self._wrap(frame, "toArrow", self._to_arrow)
        self._wrap(frame, "rdd", self._rdd)
        for method, argument in _SAVES.items():
            self._wrap(RDD, method, self._saving(method, argument))

    def remove(self) -> None:
        """Put everything back."""
        while self._replaced:
            owner, name, original = self._replaced.pop()
            setattr(owner, name, original)

    def __reduce__(self) -> tuple[Any, ...]:
        # A method that an application keeps is pickled with this; executors have no session.
        return type(None), ()

    def _wrap(self, owner: type, name: str, wrap: Callable[[Any], Any]) -> None:
        original = inspect.getattr_static(owner, name)
        setattr(owner, name, wrap(original))
        self._replaced.append((owner, name, original))

    def _starting(self, original: _Function) -> _Function:
        @wraps(original)
        def start(*arguments: Any, **more: Any) -> Any:
            query = original(*arguments, **more)
            self._observer.query_started(query._jsq)
            return query

        return start

    def _stopping(self, original: _Function) -> _Function:
        @wraps(original)
        def stop(query: StreamingQuery) -> None:
            self._observer.query_stopping(str(query.runId))
            original(query)
            self._observer.query_over(str(query.runId))

        return stop

    def _awaiting(self, original: _Function) -> _Function:
        @wraps(original)
        def await_termination(query: StreamingQuery, *arguments: Any, **more: Any) -> Any:
            try:
                is_over = original(query, *arguments, **more)
            except Exception:  # not an interrupt: then the connection to the JVM is in mid-answer
                self._observer.query_over(str(query.runId))
                raise
            self._observer.query_over(str(query.runId))
            return is_over

        return await_termination

    def _new_session(self, original: _Function) -> _Function:
        @wraps(original)
        def new_session(session: Any) -> Any:
            made = original(session)
            self._observer.session_made(made._jsparkSession, session._jsparkSession)
            return made

        return new_session

    def _setting(self, original: _Function) -> _Function:
        @wraps(original)
        def change(conf: Any, key: str, *arguments: Any, **more: Any) -> None:
            original(conf, key, *arguments, **more)
            self._observer.setting_changed(conf._jconf, key)

        return change

    def _creating(self, original: _Function) -> _Function:
        @wraps(original)
        def create(session: Any, data: Any, *arguments: Any, **more: Any) -> Any:
            frame = original(session, data, *arguments, **more)
            self._observer.frame_made(data, frame)
            return frame

        return create

    def _checkpointing(self, original: _Function) -> _Function:
        @wraps(original)
        def checkpoint(frame: Any, *arguments: Any, **more: Any) -> Any:
            result = original(frame, *arguments, **more)
            self._observer.frame_checkpointed(frame, result)
            return result

        return checkpoint

    def _to_pandas(self, original: _Function) -> _Function:
        @wraps(original)
        def to_pandas(frame: Any) -> Any:
            result = original(frame)
            self._observer.frame_as_pandas(frame, result)
            return result

        return to_pandas

    def _to_arrow(self, original: _Function) -> _Function:
        @wraps(original)
        def to_arrow(frame: Any) -> Any:
            result = original(frame)
            self._observer.frame_as_arrow(frame)
            return result

        return to_arrow

    def _rdd(self, original: Any) -> property:
        def rdd(frame: Any) -> Any:
            result = original.__get__(frame, type(frame))
            self._observer.frame_as_rdd(frame, result)
            return result

        return property(rdd, doc=original.__doc__)

    def _saving(self, method: str, argument: str) -> Callable[[_Function], _Function]:
        def wrap(original: _Function) -> _Function:
            @wraps(original)
            def save(rdd: Any, *arguments: Any, **more: Any) -> Any:
                target = arguments[0] if arguments else more.get(argument)
                run_id = self._observer.save_started(rdd, method, _place(target))
                try:
                    result = original(rdd, *arguments, **more)
                except BaseException as error:
                    self._observer.save_ended(run_id, error)
                    raise
                self._observer.save_ended(run_id, None)
                return result

            return save

        return wrap


def _place(target: Any) -> str:
    """Where an RDD is saved: a path, or the one that a job's configuration names."""
    if isinstance(target, dict):
        return next((str(target[key]) for key in _OUTPUT if key in target), "")
    return str(target or "")


def _frame_class() -> type:
    try:
        from pyspark.sql.classic.dataframe import DataFrame  # noqa: PLC0415 - Spark 4
    except ImportError:
        from pyspark.sql import DataFrame  # type: ignore[assignment]  # noqa: PLC0415
    return DataFrame
