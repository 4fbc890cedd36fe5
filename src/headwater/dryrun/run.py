"""Runs an application in this process with its sinks replaced, on a session that is there.

Reads stay what they are, but for streams: an application gets a bounded frame in place of each, so
that functions of `foreachBatch` see rows and plans can be evaluated. What an application does
outside Spark, such as calling other services, it does here as well.
"""

import re
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.dryrun.replaced import Enough, Replacements, StreamRead
from headwater.dryrun.writers import Planned
from headwater.errors import DryRunFailed

Wanted = Callable[[Planned], bool]
Stream = Callable[[StreamRead], DataFrame | None]

_STATEMENT = re.compile(
    r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|--[^\n]*|/\*.*?\*/|[^;'"`])+""", re.DOTALL
)


class _Sink(NamedTuple):
    """Keeps what an application would write, and ends it when that is enough."""

    found: list[Planned]
    wanted: Wanted

    def add(self, planned: Planned) -> None:
        self.found.append(planned)
        if self.wanted(planned):
            raise Enough


def run_application(
    spark: SparkSession, application: Path, arguments: Sequence[str] = (),
    stream: Stream = lambda _read: None, wanted: Wanted = lambda _planned: False,
) -> list[Planned]:  # fmt: skip
    """What an application would write; it ends early at a write that is `wanted`.

    `stream` gives the rows of a stream; without any, all that its source has.

    Raises: DryRunFailed.
    """
    if not application.is_file():
        raise DryRunFailed(str(application), "it is not a file")
    with _replaced(spark, stream, wanted) as found, _as_main(application, arguments):
        try:  # what it prints is not the answer
            with redirect_stdout(sys.stderr):
                runpy.run_path(str(application), run_name="__main__")
        except Enough:
            pass
        except SystemExit as error:
            if error.code not in (None, 0):
                raise DryRunFailed(str(application), f"it ended with {error.code}") from None
        except Exception as error:
            raise DryRunFailed(str(application), _one_line(error)) from error
    return found


def run_sql(
    spark: SparkSession, text: str, stream: Stream = lambda _read: None,
    wanted: Wanted = lambda _planned: False,
) -> list[Planned]:  # fmt: skip
    """What statements would write; a query on its own is kept without a target.

    Raises: DryRunFailed.
    """
    with _replaced(spark, stream, wanted) as found:
        try:
            for statement in filter(str.strip, _STATEMENT.findall(text)):
                frame = spark.sql(statement)
                if frame.columns:
                    found.append(Planned("", frame))
        except Enough:
            pass
        except PySparkException as error:
            raise DryRunFailed("the SQL text", _one_line(error)) from error
    return found


@contextmanager
def _replaced(spark: SparkSession, stream: Stream, wanted: Wanted) -> Iterator[list[Planned]]:
    sink = _Sink([], wanted)
    with Replacements(spark, sink.add, stream):
        yield sink.found


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
