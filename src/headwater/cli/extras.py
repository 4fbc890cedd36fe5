"""Commands that need more than the base install."""

import functools
from collections.abc import Callable
from typing import Any

from headwater.errors import HeadwaterError

Run = Callable[..., None]


def needs(missing: Callable[[str], HeadwaterError]) -> Callable[[Run], Run]:
    """Tell which package is missing when Headwater was installed without the extra."""

    def wrap(command: Run) -> Run:
        @functools.wraps(command)
        def told(*args: Any, **options: Any) -> None:
            try:
                command(*args, **options)
            except ModuleNotFoundError as error:
                if (error.name or "").startswith("headwater"):
                    raise
                raise missing(error.name or "?") from error

        return told

    return wrap
