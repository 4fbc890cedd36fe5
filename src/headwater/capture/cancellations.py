"""Tells what fails because a signal has come from what fails by itself."""

import re

# What Spark, py4j and Python say of work that is cancelled, or whose JVM or workers end with it.
_CANCELLED = re.compile(
    r"cancel|interrupt|SystemExit|shut ?down|stopped SparkContext|SparkContext was stopped"
    r"|JVM ended|worker exited|Answer from Java side is empty|Connection (?:refused|reset)"
    r"|Broken pipe|EOFException|Py4JNetworkError",
    re.IGNORECASE,
)


def is_cancellation(text: str) -> bool:
    """Whether an error's text is one of work that was cancelled."""
    # Frames of a stack name methods such as `runUninterruptibly`, whatever the error.
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("at "))
    return any(_CANCELLED.search(line) for line in lines)
