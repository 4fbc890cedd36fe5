"""Every error Headwater raises, in one tree.

    HeadwaterError
    ├── UsageError           the command was given something it cannot use
    │   └── AmbiguousName    a name that fits several jobs, datasets or columns
    ├── UnknownName          a name that fits nothing the server knows
    ├── ServerUnreachable    the lineage server did not answer
    ├── RequestRefused       the lineage server answered with an error
    ├── StoreError           the lineage store cannot be used
    │   ├── UnknownStore     an address that names no kind of store
    │   └── StoreUnreachable the database did not open
    └── EventRejected        an event that cannot be accepted

A class takes facts, keeps them as attributes, writes its own message, and says in its
hint what to do. `exit_code` is what the command line ends with.
"""

_NOT_FOUND = 404
_ODD = "Check that the address is that of a lineage server"
_REFUSED = {
    _NOT_FOUND: "Check the name; `headwater search TEXT` finds jobs, datasets and columns",
    4: "Change what is asked as the answer says",
    5: "Look into the log of the server",
}


class HeadwaterError(Exception):
    """An error with a sentence on what happened and one on what to do."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message, self.hint = message, hint
        super().__init__(message)


class UsageError(HeadwaterError):
    """The command was given something it cannot use."""

    exit_code = 2


class AmbiguousName(UsageError):
    """A name that fits several jobs, datasets or columns, whose node ids are listed."""

    def __init__(self, text: str, candidates: list[str], more: int = 0) -> None:
        self.text, self.candidates, self.more = text, candidates, more
        count = f"more than {len(candidates)}" if more else len(candidates)
        listed = "".join(f"\n    {node}" for node in candidates)
        super().__init__(
            f"{text!r} fits {count} names",
            hint=f"Give the node id of the one you mean, in quotes:{listed}",
        )


class UnknownName(HeadwaterError):
    """A name that fits nothing the server knows."""

    def __init__(self, text: str, kinds: str) -> None:
        self.text, self.kinds = text, kinds
        super().__init__(
            f"no {kinds} has {text!r} in its name",
            hint="Look for a shorter part of it with `headwater search TEXT`",
        )


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
            hint=_REFUSED.get(status // 100 if status != _NOT_FOUND else status, _ODD),
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
