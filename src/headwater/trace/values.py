"""Values of rows as JSON has them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import Row


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
    return str(value) if isinstance(value, Decimal) else value
