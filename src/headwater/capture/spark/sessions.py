"""The settings of a session that decide what its queries return."""

from typing import Any

from headwater.capture import facets
from headwater.capture.spark.jvm import Java, attempt, call, class_name, option
from headwater.openlineage.sessions import DRIVER_ZONE, REPORTED, SESSION


class SessionSettings:
    """The settings that an application began with, and which of them it has changed since.

    Capture hears of a write when it is over, so that a setting that was ever changed may have had
    any of its values then.
    """

    def __init__(self, session: Java, jvm: Java) -> None:
        zone = call(jvm.java.util.TimeZone.getDefault(), "getID")
        self._driver = {DRIVER_ZONE: str(zone)} if zone is not None else {}
        self._first = _read(session)
        self._changed: set[str] = set()

    def unfollow(self) -> None:
        """Report no settings from now on: code that capture does not see may change them."""
        self._first = {}

    def facet(self, session: Java | None) -> dict[str, Any]:
        """The run facet about a session; none if nothing is known of it."""
        found = _read(session) if self._first else {}
        if not found:
            return {}
        self._changed.update(name for name, value in found.items() if value != self._first[name])
        told = facets.own_facet(
            "session", settings=self._first | self._driver, changed=sorted(self._changed)
        )
        return {SESSION: told}

    def set_by_python(self, conf: Java, name: str) -> None:
        """The application has set a setting."""
        if name in self._first and attempt(conf, "get", name) != self._first[name]:
            self._changed.add(name)

    def set_by_sql(self, plan: Java) -> None:
        """A statement has run; SET and RESET change settings."""
        kind = class_name(plan)
        if kind == "SetCommand":
            pair = option(call(plan, "kv"))
            name, value = str(call(pair, "_1")), option(call(pair, "_2"))
            if value is not None and str(value) != self._first.get(name, str(value)):
                self._changed.add(name)
        elif kind == "ResetCommand":
            self._changed.update(self._first)


def _read(session: Java | None) -> dict[str, str]:
    conf = call(session, "conf")
    found = ((name, attempt(conf, "get", name)) for name in REPORTED)
    return {name: str(value) for name, value in found if value is not None}
