"""Runs an application in this process with its sinks replaced, on a session that is there.

Reads stay what they are, but for streams: an application gets a bounded frame in place of each, so
that functions of `foreachBatch` see rows and plans can be evaluated. What an application does
outside Spark, such as calling other services, it does here as well.
"""

import re
import runpy
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.dryrun.replaced import Enough, Replacements, Sink, StreamRead
from headwater.dryrun.writers import Planned
from headwater.errors import DryRunFailed

Wanted = Callable[[Planned], bool]
Stream = Callable[[StreamRead], DataFrame | None]

_STATEMENT = re.compile(
    r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|--[^\n]*|/\*.*?\*/|[^;'"`])+""", re.DOTALL
)


_LONGEST = 20.0  # seconds that an application goes on after a write that is wanted
_REPEATED = 3  # writes of one plan, after which an application is taken to repeat itself
_MORE = "the application {} after it wrote the table: it may write the table again"


class _Sink:
    """Keeps what an application would write, and ends it when that is enough."""

    def __init__(self, wanted: Wanted) -> None:
        self.found: list[Planned] = []
        self._wanted, self._began = wanted, 0.0
        self._kept: list[Planned] = []
        self._missed: dict[str, None] = {}

    def result(self) -> list[Planned]:
        """What was found, with what is not known of all of it."""
        return [one._replace(doubts=(*one.doubts, *self._missed)) for one in self.found]

    def miss(self, what: str) -> None:
        """Note something that was not executed, and whose rows are not known."""
        self._missed[f"{what} is not executed: it may write the table as well"] = None

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
        self._began = self._began or time.monotonic()
        self._kept.append(planned)
        if sum(is_same_plan(planned, one) for one in self._kept) >= _REPEATED:
            raise Enough

    def check(self) -> bool:
        """Whether there is a write that is wanted; ends an application that goes on for long.

        Raises: Enough.
        """
        if self._kept and time.monotonic() - self._began > _LONGEST:
            self.doubt("was still running")
            raise Enough
        return self.has_wanted

    def doubt(self, what: str) -> None:
        """Note that an application was not seen to its end."""
        self._missed[_MORE.format(what)] = None


def is_same_plan(one: Planned, other: Planned) -> bool:
    """Whether two writes write what the same plan gives."""
    plans = (write.frame._jdf.queryExecution().analyzed() for write in (one, other))
    return bool(next(plans).sameResult(next(plans)))


def run_application(
    spark: SparkSession, application: Path, arguments: Sequence[str] = (),
    stream: Stream = lambda _read: None, wanted: Wanted = lambda _planned: False,
) -> list[Planned]:  # fmt: skip
    """What an application would write; after a write that is `wanted` it ends soon.

    `stream` gives the rows of a stream; without any, all that its source has.

    Raises: DryRunFailed.
    """
    if not application.is_file():
        raise DryRunFailed(str(application), "it is not a file")
    with _replaced(spark, stream, wanted) as sink, _as_main(application, arguments):
        try:  # what it prints is not the answer
            with redirect_stdout(sys.stderr):
                runpy.run_path(str(application), run_name="__main__")
        except Enough:
            pass
        except SystemExit as error:
            _ended_early(sink, error.code not in (None, 0), application, f"ended with {error.code}")
        except Exception as error:
            if not sink.has_wanted:
                raise DryRunFailed(str(application), _one_line(error)) from error
            sink.doubt(f"failed ({_one_line(error)})")
    return sink.result()


def _ended_early(sink: _Sink, is_failed: bool, application: Path, how: str) -> None:
    if is_failed and not sink.has_wanted:
        raise DryRunFailed(str(application), f"it {how}") from None
    if is_failed:
        sink.doubt(how)


def run_sql(
    spark: SparkSession, text: str, stream: Stream = lambda _read: None,
    wanted: Wanted = lambda _planned: False,
) -> list[Planned]:  # fmt: skip
    """What statements would write; a query on its own is kept without a target.

    Raises: DryRunFailed.
    """
    with _replaced(spark, stream, wanted) as sink:
        try:
            for statement in filter(str.strip, _STATEMENT.findall(text)):
                frame = spark.sql(statement)
                if frame.columns:
                    sink.found.append(Planned("", frame))
        except Enough:
            pass
        except PySparkException as error:
            raise DryRunFailed("the SQL text", _one_line(error)) from error
    return sink.result()


@contextmanager
def _replaced(spark: SparkSession, stream: Stream, wanted: Wanted) -> Iterator[_Sink]:
    sink = _Sink(wanted)
    with Replacements(spark, Sink(sink.add, sink.check, sink.miss), stream):
        yield sink


@contextmanager
def _as_main(application: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Let an application find its arguments and the modules beside it, as when it is run."""
    before = sys.argv, [*sys.path]
    sys.argv = [str(application), *arguments]
    sys.path.insert(0, str(application.resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
