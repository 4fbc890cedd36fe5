"""A plan that an application or SQL text gives, over what one write of a table has read."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headwater.capture.datasets.naming import location
from headwater.dryrun import (
    Match,
    Planned,
    Plans,
    StreamRead,
    converted,
    is_same_plan,
    run_application,
    run_sql,
)
from headwater.errors import DryRunError, DryRunFailed, NothingWritten
from headwater.openlineage.names import DatasetName
from headwater.pipeline import kafka, sql
from headwater.trace import catalyst
from headwater.trace.derivation import Derivation
from headwater.trace.iceberg import IcebergTable
from headwater.trace.ranges import Ranges, held, spans_of
from headwater.trace.session import JobSession
from headwater.trace.sources import PLACE as PLACE
from headwater.trace.sources import Sources, node_of, reads_kafka, relation_of
from headwater.trace.values import shown

_RECORD = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, "
    "timestampType int"
)
_HEADERS = ", headers array<struct<key:string,value:binary>>"

_NOT_CONVERTED = "how the write converts its columns to those of the table is not known here"
_OTHER_TABLE = "{} is the name of another table here"
_OTHER_ORDER = (
    "the query gives the columns in another order than the table has them: supply the statement "
    "that writes it"
)
_MISSED = "it uses {}, which is not executed: supply the INSERT or the query itself"


class Given(NamedTuple):
    """Where a plan is taken from: an application with its arguments, or SQL."""

    application: str = ""
    sql: str = ""
    time_zone: str = ""  # of the job's session; empty where it is not known

    @property
    def name(self) -> str:
        """How it is called in messages."""
        return self.command[0] if self.application else "the SQL text"

    @property
    def command(self) -> list[str]:
        """The application and its arguments.

        Raises: DryRunFailed.
        """
        try:
            return shlex.split(self.application)
        except ValueError as error:
            raise DryRunFailed(self.application, str(error)) from None

    def check(self) -> None:
        """Look whether the application is there.

        Raises: DryRunFailed.
        """
        if self.application and not Path((self.command or [""])[0]).is_file():
            raise DryRunFailed(self.application, "it is not a file")


class Evaluated(NamedTuple):
    """A plan over what one write has read."""

    derivation: Derivation
    tables: dict[str, IcebergTable]  # the sources that are tables, at the snapshots that were read
    doubts: list[str]  # why records of topics may be missing
    missing: list[str]  # what is read besides, and not followed


class GivenPlan:
    """Runs what was given for a write, and finds the sources of its plan."""

    def __init__(self, spark: SparkSession, given: Given) -> None:
        self._spark, self._given = spark, given
        self._known: dict[tuple[str, str], list[Evaluated]] = {}
        self._bounds: dict[str, catalyst.StateBound | None] = {}

    def is_of_its_batch(self, table: IcebergTable) -> bool:
        """Whether a row holds records of the batch that wrote it alone, though there is state."""
        bound = self._bound(table)
        return bound is not None and bound.start is None

    def watermark_of(self, table: IcebergTable, row: Row) -> str | None:
        """Up to which watermark a stream had read nothing that is in a row of a window."""
        bound = self._bound(table)
        start = row.asDict().get(bound.start) if bound and bound.start else None
        if bound is None or not isinstance(start, datetime):
            return None
        return str(shown(start - timedelta(milliseconds=bound.lateness_ms)))

    def _bound(self, table: IcebergTable) -> catalyst.StateBound | None:
        if table.name not in self._bounds:
            self._bounds[table.name] = None
            with suppress(DryRunError):  # such as a function that counts the rows of a batch
                planned = _chosen(self._spark, self._given, table, _streaming(self._spark))
                bounds = {catalyst.state_bound(catalyst.analyzed(one.frame)) for one in planned}
                self._bounds[table.name] = bounds.pop() if len(bounds) == 1 else None
        return self._bounds[table.name]

    def over(self, table: IcebergTable, write: Mapping[str, Any]) -> list[Evaluated]:
        """The plan of each write into the table, over what the write in question has read.

        Raises: DryRunFailed, NothingWritten.
        """
        read = [write.get(name) for name in ("offsets", "inputs", "settings")]
        key = table.name, json.dumps(read, sort_keys=True)
        if key not in self._known:
            self._known[key] = _Evaluation(self._spark, self._given, write).of(table)
        return self._known[key]


class _Evaluation:
    """One run of what was given."""

    def __init__(self, spark: SparkSession, given: Given, write: Mapping[str, Any]) -> None:
        self._spark, self._given = spark, given
        self._spans = spans_of(write)
        self._versions = {one["nodeId"]: one.get("snapshot") for one in write.get("inputs") or ()}
        self._frames: dict[str, DataFrame] = {}  # of streams, by what they read
        self._bounded: set[int] = set()  # the relations of Kafka in these
        self._read_at = write.get("at")
        self._session = JobSession(write.get("settings") or {}, given.time_zone)
        self._doubts: dict[str, None] = {}  # of the records of topics

    def of(self, table: IcebergTable) -> list[Evaluated]:
        chosen = _chosen(self._spark, self._given, table, self._stream, self._session)
        return [self._evaluated(planned) for planned in chosen]

    def _evaluated(self, planned: Planned) -> Evaluated:
        plan = catalyst.analyzed(planned.frame)
        sources = Sources(
            self._spark, self._versions, plan, bounded=self._bounded, constants=planned.constants
        )
        derivation = Derivation(self._spark, planned.frame, sources.source)
        doubts = {**self._doubts, **dict.fromkeys(planned.doubts), **sources.doubts}
        return Evaluated(derivation, sources.tables, [*doubts], [*sources.missing])

    def _stream(self, read: StreamRead) -> DataFrame | None:
        """The records of a stream that the write has read."""
        if read.kind != "kafka":
            return None
        key = json.dumps(read.options, sort_keys=True)
        if key not in self._frames:
            servers = read.options.get("kafka.bootstrap.servers", "")
            kept = {k: v for k, v in read.options.items()
                    if k.startswith("kafka.") or k == "includeheaders"}  # fmt: skip
            frames = [self._range(servers, topic, kept) for topic in self._topics(read.options)]
            frame = frames[0]
            for other in frames[1:]:
                frame = frame.unionAll(other)
            self._frames[key] = frame
            leaves = filter(reads_kafka, catalyst.walk(catalyst.analyzed(frame)))
            self._bounded |= {relation_of(self._spark, leaf) for leaf in leaves}
        return self._frames[key]

    def _topics(self, options: Mapping[str, str]) -> list[str]:
        if "assign" in options:
            return [*json.loads(options["assign"])]
        if "subscribepattern" in options:
            pattern = re.compile(options["subscribepattern"])
            return [topic for topic in self._spans if pattern.fullmatch(topic)] or [""]
        return [topic.strip() for topic in options.get("subscribe", "").split(",")]

    def _range(self, servers: str, topic: str, options: Mapping[str, str]) -> DataFrame:
        spans: Ranges = self._spans.get(topic, {})
        found = held(self._spark, servers, topic, spans, self._read_at, options) if spans else None
        self._doubts |= dict.fromkeys(found.doubts if found else ())
        if found is not None and found.records is not None:
            return found.records
        # A range that is empty reads nothing, and has the columns of records.
        return kafka.read_range(self._spark, servers, topic, {0: (0, 0)}, options)


def targets_of(spark: SparkSession, given: Given) -> list[str]:
    """The tables that an application or SQL writes.

    Raises: DryRunFailed.
    """
    found = _planned(spark, given, _empty(spark), lambda planned: bool(planned.target))
    return [*dict.fromkeys(one.target for one in found if one.target and "/" not in one.target)]


def _empty(spark: SparkSession) -> Callable[[StreamRead], DataFrame | None]:
    """A stream of Kafka without records: only what is written is asked for."""

    def stream(read: StreamRead) -> DataFrame | None:
        if read.kind != "kafka":
            return None
        return spark.createDataFrame([], _record(read.options))

    return stream


def _streaming(spark: SparkSession) -> Callable[[StreamRead], DataFrame | None]:
    """A stream of Kafka that is never started: Spark keeps watermarks in plans of streams only."""
    return lambda read: unstarted_stream(spark, read.options) if read.kind == "kafka" else None


def unstarted_stream(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """A stream with the columns of Kafka's records."""
    source = spark._jsparkSession.readStream().format("rate").load()
    fields = T._parse_datatype_string(_record(options)).fields  # type: ignore[attr-defined]
    return DataFrame(source, spark).select(
        *(F.lit(None).cast(field.dataType).alias(field.name) for field in fields)
    )


def _record(options: Mapping[str, str]) -> str:
    return _RECORD + (_HEADERS if options.get("includeheaders") == "true" else "")


def _chosen(
    spark: SparkSession, given: Given, table: IcebergTable,
    stream: Callable[[StreamRead], DataFrame | None], session: JobSession | None = None,
) -> list[Planned]:  # fmt: skip
    """The writes into a table, of each plan once; a query without a target is taken for one."""

    def wanted(planned: Planned) -> bool:
        return is_same_table(planned.target, table)

    found = _planned(spark, given, stream, wanted, session, table)
    chosen = [one for one in found if wanted(one)] or [one for one in found if not one.target][-1:]
    if not chosen and found.missed:
        raise DryRunFailed(given.name, _MISSED.format(", ".join(found.missed)))
    if not chosen:
        targets = [*dict.fromkeys(one.target for one in found if one.target)]
        raise NothingWritten(given.name, table.name, targets)
    distinct: list[Planned] = []
    for one in chosen:
        if not any(is_same_plan(one, other) for other in distinct):
            distinct.append(one)
    return distinct


def _planned(
    spark: SparkSession, given: Given, stream: Callable[[StreamRead], DataFrame | None],
    wanted: Callable[[Planned], bool], session: JobSession | None = None,
    table: IcebergTable | None = None,
) -> Plans:  # fmt: skip
    """What was given would write, with the job's settings and its doubts as far as known.

    A query without a target is taken for one of the table.
    """
    session = session or JobSession(time_zone=given.time_zone)
    with session.entered(spark):
        found = _run(spark, given, stream, wanted)
        written = [_of_query(one, table) if table and not one.target else one for one in found]
    told = Plans(
        one._replace(
            doubts=(
                *one.doubts,
                *session.doubts(spark, catalyst.analyzed(one.frame)),
                *(_doubts_of_target(one, table) if table else ()),
            )
        )
        for one in written
    )
    told.missed = found.missed
    return told


def _of_query(planned: Planned, table: IcebergTable) -> Planned:
    """A query as the statement writes it that is not given: by name, or else by position."""
    own = [name.lower() for name in table.columns]
    names = [name.lower() for name in planned.frame.columns]
    match = Match.NAME if {*names} <= {*own} else Match.POSITION
    is_sure = match is Match.POSITION or names == [name for name in own if name in names]
    found = converted(planned._replace(target=sql.quoted(table.name), match=match))
    doubts = found.doubts if is_sure else (*found.doubts, _OTHER_ORDER)
    return found._replace(target="", doubts=doubts)


def _doubts_of_target(planned: Planned, table: IcebergTable) -> list[str]:
    """Why a frame may not hold the rows as the table got them."""
    if planned.relation is None:
        return [] if planned.match is Match.NONE else [_NOT_CONVERTED]
    is_same = node_of(planned.relation) == str(table.node)
    return [] if is_same else [_OTHER_TABLE.format(planned.target)]


def _run(
    spark: SparkSession, given: Given, stream: Callable[[StreamRead], DataFrame | None],
    wanted: Callable[[Planned], bool],
) -> Plans:  # fmt: skip
    if given.application:
        path, *arguments = given.command or [""]
        return run_application(spark, Path(path), arguments, stream, wanted)
    text = Path(given.sql).read_text() if _is_file(given.sql) else given.sql
    return run_sql(spark, text, stream, wanted)


def is_same_table(target: str, table: IcebergTable) -> bool:
    """Whether an application's name of a table, or its path, is that of a table."""
    try:
        parts = [part.lower() for part in sql.parts(target)]
    except ValueError:
        return bool(target) and str(DatasetName(*location(target).key)) == str(table.node)
    return parts == [part.lower() for part in sql.parts(table.name)][-len(parts) :]


def _is_file(text: str) -> bool:
    try:
        return "\n" not in text and Path(text).is_file()
    except OSError:  # longer than a file's name may be
        return False
