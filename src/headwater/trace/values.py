"""Values of rows as JSON has them."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pyspark.sql import Row


@contextmanager
def in_utc() -> Iterator[None]:
    """Let this process live in UTC.

    PySpark hands timestamps to Python in the machine's zone and without its name, so that an hour
    that comes twice a year would be told as another one.
    """
    with in_zone("UTC"):
        yield


@contextmanager
def in_zone(zone: str) -> Iterator[None]:
    """Let this process live in a time zone."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = zone
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def is_time_zone(name: str) -> bool:
    """Whether a time zone has this name, or it is an offset such as +02:00."""
    if re.fullmatch(r"[+-]\d\d:\d\d", name):
        return True
    try:
        return bool(ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False


def shown(value: Any) -> Any:
    """A value of a row as JSON has it; decimals keep their digits, times are in UTC."""
    if isinstance(value, Row):
        return {name: shown(one) for name, one in value.asDict().items()}
    if isinstance(value, dict):
        return {str(shown(key)): shown(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [shown(one) for one in value]
    if isinstance(value, datetime):
        # Spark hands timestamps to Python in this machine's zone, and without it.
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex(" ")
    return str(value) if isinstance(value, Decimal | str) else value
