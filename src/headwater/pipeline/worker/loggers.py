"""The levels of the worker's loggers, as Kafka Connect's `/admin/loggers` shows and sets them."""

import logging
import time

from headwater.errors import UnknownLogger

ROOT = "root"
_LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 1,
}
_NAMES = {number: name for name, number in _LEVELS.items()}


class Loggers:
    """The loggers of this process, and when their levels were changed."""

    def __init__(self) -> None:
        self._modified: dict[str, int] = {}

    def listed(self) -> dict[str, dict[str, object]]:
        """Every logger that has a level of its own."""
        known = logging.root.manager.loggerDict
        own = [name for name, one in known.items() if isinstance(one, logging.Logger) and one.level]
        return {name: self.shown(name) for name in sorted([ROOT, *own])}

    def shown(self, name: str) -> dict[str, object]:
        """One logger's level.

        Raises:
            UnknownLogger: there is none of that name.

        """
        if name != ROOT and name not in logging.root.manager.loggerDict:
            raise UnknownLogger(f"Logger {name} not found")
        level = logging.getLogger(_own(name)).getEffectiveLevel()
        shown = _NAMES.get(level) or logging.getLevelName(level)
        return {"level": shown, "last_modified": self._modified.get(name)}

    def change(self, name: str, level: str) -> list[str]:
        """Set the level of a logger, and of those below it that have one; their names.

        Raises:
            UnknownLogger: there is no such level.

        """
        number = _LEVELS.get(level.upper())
        if number is None:
            raise UnknownLogger(f"invalid log level '{level}'")
        below = [one for one in self.listed() if one.startswith(f"{name}.")] if name != ROOT else []
        for one in (name, *below):
            logging.getLogger(_own(one)).setLevel(number)
            self._modified[one] = int(time.time() * 1000)
        return [name, *below]


def _own(name: str) -> str:
    return "" if name == ROOT else name
