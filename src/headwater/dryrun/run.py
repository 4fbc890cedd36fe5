"""Runs an application in this process with its sinks replaced, on a session that is there.

Reads stay what they are, but for streams: an application gets a bounded frame in place of each, so
that functions of `foreachBatch` see rows and plans can be evaluated. What an application does
outside Spark, such as calling other services, it does here as well.
"""

import re
import runpy
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.dryrun.isolation import clean_process, clean_session
from headwater.dryrun.replaced import Replacements, Sink, StreamRead
from headwater.dryrun.threads import ApplicationThreads, Enough
from headwater.dryrun.writers import Planned, Plans
from headwater.errors import DryRunFailed

Wanted = Callable[[Planned], bool]
Stream = Callable[[StreamRead], DataFrame | None]

_STATEMENT = re.compile(
    r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|--[^\n]*|/\*.*?\*/|[^;'"`])+""", re.DOTALL
)


_LONGEST = 20.0  # seconds that an application goes on after a write that is wanted
_LONGEST_BEFORE = 300.0  # seconds that it may take until there is one
_REPEATED = 3  # writes of one plan, after which an application is taken to repeat itself
_NEVER = "it was still running after {:.0f} seconds, and had not written to the table"
_AS_WELL = "{} is not executed: it may write the table as well"
_MORE = "the application {} after it wrote the table: it may write the table again"


class _Sink:
    """Keeps what an application would write, and ends it when that is enough."""

    def __init__(self, wanted: Wanted) -> None:
        self.found: list[Planned] = []
        self.is_late = False
        self._wanted, self._until = wanted, time.monotonic() + _LONGEST_BEFORE
        self._last = self._until + _LONGEST
        self._kept: list[Planned] = []
        self._missed: dict[str, None] = {}
        self._doubts: dict[str, None] = {}

    def result(self) -> Plans:
        """What was found, with what is not known of all of it."""
        more = (*(_AS_WELL.format(what) for what in self._missed), *self._doubts)
        found = Plans(one._replace(doubts=(*one.doubts, *more)) for one in self.found)
        found.missed = [*self._missed]
        return found

    def miss(self, what: str) -> None:
        """Note something that was not executed, and whose rows are not known."""
        self._missed[what] = None

    @property
    def has_wanted(self) -> bool:
        """Whether a write that is wanted has been found."""
        return bool(self._kept)

    def add(self, planned: Planned) -> None:
        """Keep a write; a third one of the same plan ends a loop.

        Raises: Enough.
        """
        self.found.append(planned)
        if not self._wanted(planned):
            return
        if planned.target not in {one.target for one in self._kept}:
            self._until = min(time.monotonic() + _LONGEST, self._last)
        self._kept.append(planned)
        if sum(is_same_plan(planned, one) for one in self._kept) >= _REPEATED:
            raise Enough

    def check(self) -> bool:
        """Whether there is a write that is wanted; ends an application that goes on for long.

        Raises: Enough.
        """
        if self.remaining() <= 0:
            self.is_late = True
            raise Enough
        return self.has_wanted

    def remaining(self) -> float:
        """The seconds that the application may go on."""
        return self._until - time.monotonic()

    def doubt(self, what: str) -> None:
        """Note that an application was not seen to its end."""
        self._doubts[_MORE.format(what)] = None


def is_same_plan(one: Planned, other: Planned) -> bool:
    """Whether two writes write what the same plan gives."""
    plans = (write.frame._jdf.queryExecution().analyzed() for write in (one, other))
    return bool(next(plans).sameResult(next(plans)))


def run_application(
    spark: SparkSession, application: Path, arguments: Sequence[str] = (),
    stream: Stream = lambda _read: None, wanted: Wanted = lambda _planned: False,
) -> Plans:  # fmt: skip
    """What an application would write; after a write that is `wanted` it ends soon.

    `stream` gives the rows of a stream; without any, all that its source has.

    Raises: DryRunFailed.
    """
    if not application.is_file():
        raise DryRunFailed(str(application), "it is not a file")
    sink, threads, tag = _Sink(wanted), ApplicationThreads(), f"headwater-{uuid4()}"
    with clean_session(spark), clean_process(application, arguments):
        with Replacements(spark, Sink(sink.add, sink.check, sink.miss), stream) as replaced:

            def work() -> None:
                replaced.enter_thread(tag)
                runpy.run_path(str(application), run_name="__main__")

            is_done = threads.run(work, sink.remaining)
        if not is_done:
            spark.sparkContext.cancelJobsWithTag(tag)
    if is_done and not sink.is_late:
        _judge(sink, str(application), threads.error)
    elif sink.has_wanted:
        sink.doubt("was still running")
    else:
        raise DryRunFailed(str(application), _NEVER.format(_LONGEST_BEFORE))
    return sink.result()


def _judge(sink: _Sink, application: str, error: BaseException | None) -> None:
    """Tell of an application that failed, unless it ended as it should."""
    if error is None or isinstance(error, Enough):
        return
    if isinstance(error, SystemExit):
        if error.code in (None, 0):
            return
        how, cause = f"ended with {error.code}", None
    else:
        how, cause = f"failed ({_one_line(error)})", error
    if sink.has_wanted:
        sink.doubt(how)
    else:
        reason = _one_line(error) if cause else f"it {how}"
        raise DryRunFailed(application, reason) from cause


def run_sql(
    spark: SparkSession, text: str, stream: Stream = lambda _read: None,
    wanted: Wanted = lambda _planned: False,
) -> Plans:  # fmt: skip
    """What statements would write; a query on its own is kept without a target.

    Raises: DryRunFailed.
    """
    sink = _Sink(wanted)
    with (
        clean_session(spark),
        Replacements(spark, Sink(sink.add, sink.check, sink.miss), stream) as replaced,
    ):
        try:
            for statement in filter(str.strip, _STATEMENT.findall(text)):
                frame = spark.sql(statement)
                if frame.columns:
                    replaced.add_query(frame)
        except Enough:
            pass
        except PySparkException as error:
            raise DryRunFailed("the SQL text", _one_line(error)) from error
    return sink.result()


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
