"""What goes wrong beside Spark: capture, tracing and dry runs."""

from collections.abc import Sequence

from headwater.errors.base import HeadwaterError


class CaptureError(HeadwaterError):
    """Capture cannot be attached."""


class BadSetting(CaptureError):
    """An invalid setting of capture."""

    exit_code = 2

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"invalid capture setting: {reason}",
            hint="The settings are listed in docs/capture.md",
        )


class ApplicationFailed(CaptureError):
    """The main method of a JVM application threw an exception."""

    def __init__(self, reason: str, trace: str) -> None:
        self.trace = trace
        super().__init__(reason, hint="The stack trace is on standard error")


class PlanTooLarge(CaptureError):
    """Reading a plan could fill the heap of the application that is observed."""

    def __init__(self) -> None:
        super().__init__(
            "the plan is too large to be read within a quarter of the driver's heap",
            hint="Give the driver more memory (spark.driver.memory) to see datasets and columns",
        )


class SparkMissing(CaptureError):
    """There is no Spark to observe."""

    def __init__(self) -> None:
        super().__init__(
            "pyspark is not installed here",
            hint="Install it with: pip install pyspark",
        )


class TraceError(HeadwaterError):
    """A row or a record cannot be traced."""


class SparkFailed(TraceError):
    """No Spark session could be started to read a table with."""

    def __init__(self, reason: str, log: str) -> None:
        self.reason, self.log = reason, log
        lines = [line for line in log.splitlines() if line.strip()]
        last = f": {lines[-1].strip()}" if lines else ""
        super().__init__(
            f"Spark could not be started: {reason}{last}",
            hint="`headwater doctor` says what this machine lacks",
        )


class BadPredicate(TraceError):
    """A predicate cannot be read, or holds what it must not."""

    exit_code = 2

    def __init__(self, text: str, reason: str) -> None:
        self.text, self.reason = text, reason
        short = text if len(text) <= 80 else f"{text[:80]}…"
        super().__init__(
            f"the predicate {short!r} cannot be used: {reason}",
            hint="Write a condition on columns of the table, such as \"order_id = 'a1'\"",
        )


class TableUnknown(TraceError):
    """A table does not exist, or is not of Iceberg."""

    def __init__(self, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(
            f"the table {table} cannot be traced: {reason}",
            hint="Name an Iceberg table of the catalog, such as default.orders",
        )


class RowMissing(TraceError):
    """No row of a table matches a predicate."""

    def __init__(self, table: str, predicate: str) -> None:
        self.table, self.predicate = table, predicate
        super().__init__(
            f"no row of {table} matches {predicate}",
            hint="To trace a record, run: headwater why-not TABLE --record TOPIC/PARTITION@OFFSET",
        )


class DryRunError(HeadwaterError):
    """The plan of a write cannot be had from an application or SQL."""


class DryRunFailed(DryRunError):
    """An application or SQL text failed while its plans were taken."""

    def __init__(self, application: str, reason: str) -> None:
        self.application, self.reason = application, reason
        super().__init__(
            f"the plan of {application} is not available: {reason}",
            hint="The application must run here, in the given Spark session, up to its write",
        )


class NothingWritten(DryRunError):
    """An application or SQL text writes nothing into a table."""

    def __init__(self, application: str, table: str, targets: Sequence[str]) -> None:
        self.application, self.table, self.targets = application, table, [*targets]
        others = f"; it writes to {', '.join(targets)}" if targets else ""
        super().__init__(
            f"{application} does not write to {table}{others}",
            hint="Name the application that writes the table, with the arguments that it needs",
        )
