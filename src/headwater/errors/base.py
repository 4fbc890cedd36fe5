"""The root of the tree, and what commands that ask a server can meet."""

from collections.abc import Sequence

_NOT_FOUND = 404
_ODD = "Check that this is the address of a lineage server"
_REFUSED = {
    _NOT_FOUND: "Check the name; `headwater search TEXT` finds jobs, datasets and columns",
    4: "Correct the request as the response says",
    5: "Check the log of the server",
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
    """A name that matches several jobs, datasets or columns, whose node ids are listed."""

    def __init__(self, text: str, candidates: list[str], more: int = 0) -> None:
        self.text, self.candidates, self.more = text, candidates, more
        count = f"more than {len(candidates)}" if more else len(candidates)
        listed = "".join(f"\n    {node}" for node in candidates)
        super().__init__(
            f"{text!r} matches {count} names",
            hint=f"Use one of these, in quotes:{listed}",
        )


class NoEvents(HeadwaterError):
    """A file to import contains no events."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} contains no events",
            hint="Check that it is the right file, and that the export was complete",
        )


class UnknownName(HeadwaterError):
    """A name that matches nothing on the server."""

    def __init__(self, text: str, kinds: str, suggestions: Sequence[str] = ()) -> None:
        self.text, self.kinds, self.suggestions = text, kinds, suggestions
        listed = "".join(f"\n    {node}" for node in suggestions)
        super().__init__(
            f"no {kinds} has {text!r} in its name",
            hint=f"Similar names:{listed}"
            if listed
            else "Search for a shorter part of the name with `headwater search TEXT`",
        )


class ServerUnreachable(HeadwaterError):
    """The lineage server did not answer."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(
            f"no lineage server answers at {url}: {reason}",
            hint="Start one with `headwater server`, or pass another address with --server URL",
        )


class RequestRefused(HeadwaterError):
    """The lineage server answered with an error."""

    def __init__(self, url: str, status: int, reason: str) -> None:
        self.url, self.status, self.reason = url, status, reason
        super().__init__(
            f"{url} answered {status}: {reason}",
            hint=_REFUSED.get(status // 100 if status != _NOT_FOUND else status, _ODD),
        )
