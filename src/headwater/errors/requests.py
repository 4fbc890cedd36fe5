"""Requests that the server refuses: events, bodies and questions."""

from headwater.errors.base import HeadwaterError


class EventRejected(HeadwaterError):
    """An event that cannot be accepted, with the field that is at fault."""

    def __init__(self, field: str, reason: str) -> None:
        self.field, self.reason = field, reason
        self.status = 422 if field else 400  # of the answer to its request
        super().__init__(
            f"{field}: {reason}" if field else reason,
            hint="Compare the event with the OpenLineage specification",
        )


class EventTooLarge(EventRejected):
    """An event, or a body of events, with too many bytes or values."""

    def __init__(self, reason: str) -> None:
        super().__init__("", reason)
        self.status = 413
        self.hint = "Send less at once, or raise HEADWATER_MAX_EVENT or HEADWATER_MAX_BODY"


class RunOfAnother(EventRejected):
    """An event that names a run of a namespace that its key does not cover."""

    def __init__(self) -> None:
        super().__init__("", "the key may not report a run of another namespace")
        self.status = 403
        self.hint = "Report the run with a key for the namespace of its job"


class TakesLong(HeadwaterError):
    """An event that is not read on the event loop, but in a thread."""

    def __init__(self) -> None:
        super().__init__("the event takes long to read", hint="Read it in a thread")


class BodyRejected(HeadwaterError):
    """The body of a request that cannot be read at all, and the status that says so."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason, hint="Send JSON or lines of JSON, plain or as gzip")


class AnswerTooLarge(HeadwaterError):
    """An answer has more names, columns or changes than one may hold."""

    status = 413

    def __init__(self) -> None:
        super().__init__(
            "the answer is too large: it has too many names, columns or changes",
            hint="Ask for less, with a lower limit or depth, or a shorter time span",
        )


class TooManySplits(HeadwaterError):
    """A column's node id can be read in more ways than are tried: many namespaces begin it."""

    status = 400

    def __init__(self, colons: int) -> None:
        self.colons = colons
        super().__init__(
            f"the node id has {colons:,} colons, and too many namespaces match its beginning",
            hint="Use the node id of the dataset: dataset:NAMESPACE:NAME",
        )


class ServerBusy(HeadwaterError):
    """The server has more large requests or answers than it can hold."""

    def __init__(self) -> None:
        super().__init__(
            "the server is busy with too many large requests and answers",
            hint="Send the request again in a moment",
        )


class EventNotStored(EventRejected):
    """An event that was read but that the store cannot hold."""

    def __init__(self, reason: str) -> None:
        super().__init__("event", f"cannot be stored: {reason}")
