"""The one line that says why a run failed, out of what its facets report."""

import re

ERRORS = ("errorMessage", "spark.exception")  # facets of runs that tell an error, the best first
_CHECKS = 3  # failed checks that are named
_TRACEBACK = "Traceback (most recent call last):"
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?")
# From the start of a word: tried at each of its letters, a long word would take for ever.
_WRAPPER = re.compile(r"(?<![\w.])(?:[\w.]+\.)?PythonException:\s*")


def failure_reason(message: str, stack_trace: str = "") -> str:
    """The exception that a user's Python code raised, else the first line of the message.

    Spark wraps an exception of a Python function in its own: `PythonException`, and for a
    stream `StreamingQueryException` around that. The function's own traceback comes last.
    """
    return _raised(message) or _raised_in_spark(message, stack_trace) or _first_line(message)


def checks_reason(failed: list[tuple[str, str]]) -> str:
    """Which checks failed, by assertion and column, in one line."""
    told = [f"{name} ({column})" if column else name for name, column in failed[:_CHECKS]]
    more = f" and {len(failed) - _CHECKS} more" if len(failed) > _CHECKS else ""
    return f"failed checks: {', '.join(told)}{more}" if told else ""


def _raised_in_spark(message: str, stack_trace: str) -> str:
    """What the stack trace says, where the message was cut off before it says anything."""
    return _raised(stack_trace) if _WRAPPER.match(message.strip()) else ""


def _raised(text: str) -> str:
    """The last line of the last Python traceback in a text."""
    _, found, rest = text.rpartition(_TRACEBACK)
    if not found:
        return ""
    lines = rest.splitlines()[1:]
    own = next((line.strip() for line in lines if line.strip() and not line[0].isspace()), "")
    return own if _EXCEPTION.fullmatch(own) else ""


def _first_line(message: str) -> str:
    text = _WRAPPER.sub("", message.strip(), count=1)
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
