"""Puts other writers, stream readers and commands into PySpark's classes for a while."""

import inspect
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self

from py4j.java_gateway import JavaClass, JavaMember
from pyspark import RDD, SparkContext
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import types as T
from pyspark.sql.catalog import Catalog
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame
from pyspark.sql.sql_formatter import SQLStringFormatter
from pyspark.sql.streaming.query import StreamingQueryManager
from pyspark.sql.streaming.readwriter import DataStreamReader

from headwater.dryrun.conversions import converted
from headwater.dryrun.jvm import LOOKED, JvmCalls, Seams
from headwater.dryrun.statements import read_statement
from headwater.dryrun.writers import (
    Add,
    BatchWriter,
    MergeWriter,
    Planned,
    StreamWriter,
    TableWriter,
    held_rdds,
)

_READ = "_headwater_read"
_MOMENT = 0.01  # seconds that an application waits which need not
_RDD = "the application made rows of an RDD, which may come from anywhere"
_FILES = ("json", "parquet", "csv", "orc", "text", "xml")
# Options of streams that a bounded read does not know, or refuses.
_OF_STREAMS = ("startingoffsets", "endingoffsets", "maxoffsetspertrigger", "minpartitions")
_SAVES = ("saveAsTextFile", "saveAsPickleFile", "saveAsSequenceFile", "saveAsHadoopFile",
          "saveAsNewAPIHadoopFile", "saveAsHadoopDataset", "saveAsNewAPIHadoopDataset",
          "foreach", "foreachPartition")  # fmt: skip
# What Python allows in the main thread only, and what would end the process without its handler.
_SIGNALS = {"signal": signal.SIG_DFL, "set_wakeup_fd": -1, "alarm": 0, "setitimer": (0.0, 0.0),
            "siginterrupt": None}  # fmt: skip
_OBSERVED = (
    "it waits for the metrics of an Observation, but the write that would compute them is not "
    "executed"
)


class StreamRead(NamedTuple):
    """A stream that an application reads; the keys of its options are in lower case."""

    kind: str
    options: dict[str, str]
    table: str | None = None


class Sink(NamedTuple):
    """What is told about an application.

    `check` may end it where it calls Spark or waits; it returns whether it need not wait any more.
    """

    add: Add
    check: Callable[[], bool]
    miss: Callable[[str], None]  # a write of which no plan is known


class Replacements:
    """What an application meets in place of Spark's own, until the end of a `with` block."""

    def __init__(
        self, spark: SparkSession, sink: Sink, stream: Callable[[StreamRead], DataFrame | None]
    ) -> None:
        self._spark, self._stream, self._sink = spark, stream, sink
        self._thread, self._output = threading.get_ident(), sys.stdout
        self._doubts: dict[str, None] = {}
        self._constants: set[int] = set()
        self._calls = JvmCalls(spark, Seams(self._writer, self._run_sql, self._doubt, sink.check))
        self._replaced: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Self:
        """Replace."""
        add = self._add
        self._put(ClassicFrame, "write", property(lambda frame: BatchWriter(frame, add)))
        self._put(ClassicFrame, "writeStream", property(lambda frame: StreamWriter(frame, add)))
        self._put(ClassicFrame, "writeTo", lambda frame, table: TableWriter(frame, table, add))
        self._put(ClassicFrame, "mergeInto", lambda frame, table, _on: self._merging(frame, table))
        self._replace_reader()
        for name in ("checkpoint", "localCheckpoint"):  # the plan behind is asked for
            self._put(ClassicFrame, name, lambda frame, *_given, **_more: frame)
        self._put(SparkSession, "createDataFrame", self._created(SparkSession.createDataFrame))
        self._put(SparkSession, "sql", self._sql(SparkSession.sql))
        for owner in (SparkSession, SparkContext):
            self._put(owner, "stop", lambda _self: None)
        self._put(StreamingQueryManager, "awaitAnyTermination", lambda *_given: True)
        for name in ("createTable", "createExternalTable"):
            self._put(Catalog, name, _create_table)
        for name in _SAVES:
            self._put(RDD, name, lambda *_given, **_more: None)
        for name, answer in _SIGNALS.items():
            if hasattr(signal, name):
                self._put(signal, name, lambda *_given, _answer=answer: _answer)
        self._replace_values()
        self._put(time, "sleep", self._sleep())
        self._put(threading.Event, "wait", self._event_wait())
        self._put(JavaMember, "__call__", self._calls.calling())
        self._put(JavaClass, "__call__", self._calls.constructing())
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Put everything back."""
        while self._replaced:
            owner, name, original = self._replaced.pop()
            setattr(owner, name, original)

    def enter_thread(self, tag: str) -> None:
        """Take this thread for the application's own, and mark its jobs."""
        self._thread, self._output = threading.get_ident(), sys.stdout
        with self._calls.let_through():
            self._spark.sparkContext.addJobTag(tag)
            jvm: Any = self._spark._jvm
            jvm.org.apache.spark.sql.SparkSession.setActiveSession(self._spark._jsparkSession)

    def _replace_values(self) -> None:
        """What tells the application something of rows without a call that does."""
        doubt, show = self._doubt, ClassicFrame.show
        value: Any = Accumulator.value

        def accumulated(accumulator: Any) -> Any:
            doubt(LOOKED)
            return value.fget(accumulator)

        def shown(frame: Any, *given: Any, **more: Any) -> None:
            if sys.stdout is not self._output:  # the application reads what it prints
                show(frame, *given, **more)

        self._put(Accumulator, "value", property(accumulated, value.fset))
        self._put(Observation, "get", property(self._observed()))
        self._put(ClassicFrame, "show", shown)

    def _observed(self) -> Callable[[Any], Any]:
        """In place of `Observation.get`, which would wait for an action for ever."""
        original: Any = Observation.get

        def get(observation: Any) -> Any:
            self._doubt(LOOKED)
            if observation._jo is not None and not observation._jo.future().isCompleted():
                raise RuntimeError(_OBSERVED)
            return original.fget(observation)

        return get

    def _sleep(self) -> Callable[..., None]:
        """In place of `time.sleep`."""
        original = time.sleep
        return lambda seconds: original(_MOMENT if self._need_not_wait() else seconds)

    def _event_wait(self) -> Callable[..., bool]:
        """In place of `threading.Event.wait`."""
        original = threading.Event.wait

        def wait(event: threading.Event, timeout: float | None = None) -> bool:
            return original(event, _MOMENT if self._need_not_wait() else timeout)

        return wait

    def _need_not_wait(self) -> bool:
        """Whether the application's own thread waits for what does not count any more."""
        return threading.get_ident() == self._thread and self._sink.check()

    def _add(self, planned: Planned) -> None:
        if self._calls.has_looked():
            self._doubt(LOOKED)
        told = planned._replace(doubts=(*self._doubts,), constants=frozenset(self._constants))
        with self._calls.on_our_behalf():
            self._sink.add(converted(told))

    def add_query(self, frame: DataFrame) -> None:
        """Keep a query that is written by something else."""
        self._add(Planned("", frame))

    def _put(self, owner: Any, name: str, value: Any) -> None:
        self._replaced.append((owner, name, inspect.getattr_static(owner, name)))
        setattr(owner, name, value)

    def _doubt(self, reason: str) -> None:
        self._doubts[reason] = None

    def _writer(self, name: str, frame: DataFrame, given: tuple[Any, ...]) -> Any:
        """The writer that a call into the JVM asks for."""
        if name == "write":
            return BatchWriter(frame, self._add)
        if name == "writeStream":
            return StreamWriter(frame, self._add)
        if name == "mergeInto":
            return self._merging(frame, str(given[0]))
        return TableWriter(frame, str(given[0]), self._add)

    def _merging(self, frame: DataFrame, table: str) -> MergeWriter:
        return MergeWriter(frame, table, self._sink.miss)

    def _created(self, original: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
        def create(session: SparkSession, data: Any, *given: Any, **more: Any) -> DataFrame:
            if isinstance(data, RDD):  # of rows that may come from anywhere
                self._doubt(_RDD)
                return original(session, data, *given, **more)
            frame = original(session, data, *given, **more)
            with self._calls.let_through():
                self._constants |= set(held_rdds(frame))
            return frame

        return create

    def _replace_reader(self) -> None:
        # Functions and not methods of this object: PySpark's classes bind them to the reader.
        load, table = self._load, self._table

        def loaded(reader: Any, *given: Any, **more: Any) -> DataFrame:
            return load(reader, *given, **more)

        def read(reader: Any, name: str) -> DataFrame:
            return table(reader, name)

        for name in ("format", "option", "options", "schema"):
            self._put(DataStreamReader, name, _noting(name, getattr(DataStreamReader, name)))
        self._put(DataStreamReader, "load", loaded)
        self._put(DataStreamReader, "table", read)
        for name in _FILES:
            if hasattr(DataStreamReader, name):
                self._put(DataStreamReader, name, self._files(name))

    def _load(
        self, reader: Any, path: str | None = None, format: str | None = None,  # noqa: A002
        schema: Any = None, **options: Any,
    ) -> DataFrame:  # fmt: skip
        noted = _noted(reader)
        told = {**noted["options"], **{key.lower(): str(value) for key, value in options.items()}}
        read = StreamRead(format or noted["format"] or "parquet", told)
        with self._calls.on_our_behalf():
            found = self._stream(read)
        if found is not None:
            return found
        bounded = self._spark.read.format(read.kind)
        kept = {key: value for key, value in told.items() if key not in _OF_STREAMS}
        schema = schema or noted["schema"]
        bounded = bounded.options(**kept)
        return (bounded.schema(schema) if schema else bounded).load(path)

    def _table(self, reader: Any, name: str) -> DataFrame:
        with self._calls.on_our_behalf():
            found = self._stream(StreamRead("table", _noted(reader)["options"], name))
        return self._spark.read.table(name) if found is None else found

    def _files(self, kind: str) -> Callable[..., DataFrame]:
        return lambda reader, path, **options: self._load(reader, path, kind, **options)

    def _sql(self, original: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
        self._original_sql = original

        def sql(
            session: SparkSession,
            sqlQuery: str,  # noqa: N803
            args: Any = None,
            **given: Any,
        ) -> DataFrame:
            formatter = SQLStringFormatter(session)
            try:
                text = formatter.format(sqlQuery, **given) if given else sqlQuery
                return self._run_sql(session, text, args)
            finally:
                formatter.clear()

        return sql

    def _run_sql(self, session: SparkSession, text: str, args: Any = None) -> DataFrame:
        """Run a statement that changes nothing, and keep what another would write."""
        with self._calls.let_through():
            statement = read_statement(session, text, args)
        for planned in statement.writes:
            self._add(planned)
        if statement.missed:
            self._sink.miss(statement.missed)
        if statement.looks:
            self._doubt(LOOKED)
        with self._calls.on_our_behalf():
            if statement.may_run:
                return self._original_sql(session, text, args)
            return session.createDataFrame([], T.StructType([]))


def _create_table(
    catalog: Any, _name: str, _path: Any = None, _source: Any = None, schema: Any = None,
    *_given: Any, **more: Any,
) -> DataFrame:  # fmt: skip
    """In place of `Catalog.createTable`."""
    session: SparkSession = catalog._sparkSession
    return session.createDataFrame([], more.get("schema", schema) or T.StructType([]))


def _noted(reader: Any) -> dict[str, Any]:
    found: dict[str, Any] = reader.__dict__.setdefault(
        _READ, {"format": None, "options": {}, "schema": None}
    )
    return found


def _noting(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def note(reader: Any, *arguments: Any, **more: Any) -> Any:
        noted = _noted(reader)
        if name == "option":
            given = [*arguments, *more.values()]
            noted["options"][str(given[0]).lower()] = _text(given[1])
        elif name == "options":
            noted["options"] |= {key.lower(): _text(value) for key, value in more.items()}
        else:
            noted[name] = [*arguments, *more.values()][0]
        return original(reader, *arguments, **more)

    return note


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
