"""The states of what a worker hosts, and how a failure is described."""

from enum import StrEnum

from headwater.errors import HeadwaterError


class State(StrEnum):
    """The state of a connector or of a task; the last four are Kafka Connect's own words."""

    STARTING = "STARTING"
    BACKOFF = "BACKOFF"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"

    @property
    def in_connect(self) -> str:
        """The state in a word that clients of Kafka Connect know."""
        return _IN_CONNECT.get(self, self.value)


_IN_CONNECT = {State.STARTING: "UNASSIGNED", State.BACKOFF: "RESTARTING"}


def describe(error: BaseException) -> str:
    """An error and what to do about it, in one line."""
    hint = f" ({error.hint})" if isinstance(error, HeadwaterError) and error.hint else ""
    return f"{type(error).__name__}: {error}{hint}"
