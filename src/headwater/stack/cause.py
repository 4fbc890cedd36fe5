"""The cause of a failure, found in the log of a service that ended."""

import re
from collections.abc import Iterable, Iterator

_LIMIT = 300
# The lines that begin an error, the surest sign first.
_SIGNS = (
    re.compile(r"OutOfMemory"),
    re.compile(r"\b(FATAL|ERROR|SEVERE)\b|^Exception in thread|^Traceback"),
    re.compile(r"^[\w.$]+(Exception|Error)\b|^Error:"),
    re.compile(r"Exception|Error"),
)
_FRAME = re.compile(r"at |\.\.\. \d+ (more|common)|File \"")
_CAUSED = "Caused by:"


def cause(log: str) -> str:
    """The line that says why a service ended: the innermost cause of the first error.

    What follows the first error is often its consequence, such as a shutdown that fails too.
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for sign in _SIGNS:
        first = next((n for n, line in enumerate(lines) if sign.search(line)), None)
        if first is not None:
            return _innermost(lines[first:])[:_LIMIT]
    return lines[-1][:_LIMIT] if lines else ""


def _innermost(lines: list[str]) -> str:
    """The last cause of the trace that the first line begins, or else that line."""
    found = lines[0]
    if found.startswith("Traceback"):
        return next((line for line in lines[1:] if _raised(line)), found)
    for line in _trace(lines[1:]):
        if line.startswith(_CAUSED):
            found = line.removeprefix(_CAUSED).strip()
    return found


def _trace(lines: Iterable[str]) -> Iterator[str]:
    """The lines that belong to a trace: the exception, its frames and its causes."""
    begun = False
    for line in lines:
        belongs = bool(_FRAME.match(line)) or line.startswith((_CAUSED, "Suppressed:"))
        if not belongs and begun:
            return
        begun = begun or belongs
        yield line


def _raised(line: str) -> bool:
    return bool(re.match(r"[\w.]+(Error|Exception|Interrupt|Exit)\b", line))
