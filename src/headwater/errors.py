"""Every error Headwater raises, in one tree.

    HeadwaterError
    ├── UsageError           the command was given something it cannot use
    ├── ServerUnreachable    the lineage server did not answer
    ├── RequestRefused       the lineage server answered with an error
    ├── StoreError           the lineage store cannot be used
    │   ├── UnknownStore     an address that names no kind of store
    │   └── StoreUnreachable the database did not open
    ├── EventRejected        an event that cannot be accepted
    └── CaptureError         capture cannot be attached as asked
        ├── BadSetting       a setting of capture that cannot be used
        └── SparkMissing     there is no Spark to observe

A class takes facts, keeps them as attributes, writes its own message, and says in its
hint what to do. `exit_code` is what the command line ends with.
"""


class HeadwaterError(Exception):
    """An error with a sentence on what happened and one on what to do."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message, self.hint = message, hint
        super().__init__(message)


class UsageError(HeadwaterError):
    """The command was given something it cannot use."""

    exit_code = 2


class ServerUnreachable(HeadwaterError):
    """The lineage server did not answer."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(
            f"no lineage server answers at {url}: {reason}",
            hint="Start one with `headwater server`, or name another with --server URL",
        )


class RequestRefused(HeadwaterError):
    """The lineage server answered with an error."""

    def __init__(self, url: str, status: int, reason: str) -> None:
        self.url, self.status, self.reason = url, status, reason
        super().__init__(
            f"{url} answered {status}: {reason}",
            hint="Check the name; `headwater search TEXT` finds jobs, datasets and columns",
        )


class StoreError(HeadwaterError):
    """The lineage store cannot be used."""


class UnknownStore(StoreError):
    """An address that names no kind of store."""

    exit_code = 2

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__(
            f"{url!r} names no store that Headwater knows",
            hint="Use sqlite:///path/to/file.db or postgresql://user@host/database",
        )


class StoreUnreachable(StoreError):
    """The database did not open."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(
            f"the store {url} cannot be opened: {reason}",
            hint="Check the path or address, the permissions and that the database is running",
        )


class EventRejected(HeadwaterError):
    """An event that cannot be accepted, with the field that is at fault."""

    def __init__(self, field: str, reason: str) -> None:
        self.field, self.reason = field, reason
        super().__init__(
            f"{field}: {reason}" if field else reason,
            hint="Compare the event with the OpenLineage specification",
        )


class CaptureError(HeadwaterError):
    """Capture cannot be attached as asked."""


class BadSetting(CaptureError):
    """A setting of capture that cannot be used."""

    exit_code = 2

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"a setting of capture cannot be used: {reason}",
            hint="The settings are listed in docs/capture.md",
        )


class SparkMissing(CaptureError):
    """There is no Spark to observe."""

    def __init__(self) -> None:
        super().__init__(
            "pyspark is not installed here",
            hint="Install it beside headwater: pip install pyspark",
        )
