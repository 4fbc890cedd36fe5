"""The states of what a worker hosts, and how a failure is told."""

from enum import StrEnum

from headwater.errors import HeadwaterError


class State(StrEnum):
    """A task's state, in Kafka Connect's words."""

    RUNNING = "RUNNING"
    FAILED = "FAILED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


def told(error: Exception) -> str:
    """An error and what to do about it, in one line."""
    hint = f" ({error.hint})" if isinstance(error, HeadwaterError) and error.hint else ""
    return f"{type(error).__name__}: {error}{hint}"
