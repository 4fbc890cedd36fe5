"""Keeps every fault of capture inside capture: the one place that catches whatever comes.

A job must never fail, stop or wait because it is watched. So each entry from Spark's threads
and each delivery runs through `attempt`; the first fault of each kind is logged with what to
report, later ones are counted. A JVM that has ended is no fault of capture.
"""

import logging
import re
import threading
import traceback
from collections import Counter
from collections.abc import Callable

from headwater.errors import HeadwaterError
from headwater.openlineage.masking import mask_text

log = logging.getLogger("headwater.capture")

# What py4j says if the connection breaks during a call; an error of the JVM has a trace.
_NO_ANSWER = re.compile(r"An error occurred while calling \S+$")


class FaultBarrier:
    """Runs actions, and remembers which of them failed."""

    def __init__(self) -> None:
        self.faults: Counter[str] = Counter()
        self._lock = threading.Lock()

    def attempt(self, action: Callable[[], object]) -> Exception | None:
        """Run an action; what it raises is returned."""
        try:
            action()
        except Exception as error:
            return error
        return None

    def run(self, what: str, action: Callable[[], object]) -> bool:
        """Run an action that should not fail, and log it if it does."""
        error = self.attempt(action)
        if error is not None:
            self.note(what, error)
        return error is None

    def note(self, what: str, error: Exception) -> None:
        """Count what an action raised, and log the first of its kind."""
        with self._lock:
            self.faults[what] += 1
            first = self.faults[what] == 1
        if jvm_is_gone(error):
            log.info("headwater: %s was left out, because Spark's JVM has ended", what)
        elif first and isinstance(error, HeadwaterError):
            log.warning("headwater: %s was left out: %s", what, error)
        elif first:
            trace = mask_text("".join(traceback.format_exception(error)))
            log.warning(
                "headwater: capture failed at %s; the job continues. Please report this:\n%s",
                what,
                trace,
            )


def jvm_is_gone(error: BaseException) -> bool:
    """Whether a call failed because there is no JVM any more."""
    chain: BaseException | None = error
    while chain is not None:
        # By its name: a client of Spark Connect has no py4j.
        kind = type(chain).__name__
        if kind == "Py4JNetworkError" or (kind == "Py4JError" and _NO_ANSWER.search(str(chain))):
            return True
        chain = chain.__cause__ or chain.__context__
    return isinstance(error, ConnectionError)
