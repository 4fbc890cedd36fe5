"""Waiting for something to become true."""

import time
from collections.abc import Callable


def until(
    condition: Callable[[], object], seconds: float, describe: Callable[[], str] = str
) -> None:
    """Return when `condition` holds; fail with what `describe` says if it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"did not happen in {seconds} s: {describe()}")
        time.sleep(0.05)
