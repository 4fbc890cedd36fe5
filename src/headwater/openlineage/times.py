"""Moments, as whole microseconds since 1970 in UTC: what events, stores and answers share."""

import re
from datetime import UTC, datetime
from time import time_ns
from typing import NewType

Moment = NewType("Moment", int)

FOREVER = Moment(2**62)  # the end of what has not ended
EPOCH = Moment(0)

_FIRST = int(datetime(1, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_LAST = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp()) * 1_000_000

_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400 * 1_000_000
# By length, what is between the digits of 2026-03-02T08:00:00Z, with milli- and with microseconds.
_PLAIN = {20: "--T::Z", 24: "--T::.", 27: "--T::."}

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?"
    r"\s*([Zz]|[+-]\d\d:?\d\d)?(?:\[[^\]]{0,64}\])?",
    re.ASCII,
)


def now() -> Moment:
    """The server's clock."""
    return Moment(time_ns() // 1000)


def parse_moment(text: str) -> Moment:
    """Read an ISO 8601 time; without a zone it is UTC, and nanoseconds are cut to micro.

    Raises: ValueError, when the text is no time.
    """
    moment = _parse_plain(text)
    if moment is None:
        moment = _parse_any(text)
    if not _FIRST <= moment <= _LAST:
        raise ValueError(f"{text[:64]!r} is not between 0001-01-01 and 9999-12-31")
    return Moment(moment)


def _parse_plain(text: str) -> int | None:
    """Read the form that most producers write, in a tenth of the time; None for all others."""
    if _PLAIN.get(len(text)) != text[4:20:3] or text[-1] != "Z":
        return None
    try:
        since = datetime.fromisoformat(text) - _BEGIN
    except ValueError:
        return None
    return since.days * _DAY + since.seconds * 1_000_000 + since.microseconds


def _parse_any(text: str) -> int:
    match = _ISO.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text[:64]!r} is not an ISO 8601 time such as 2026-03-02T08:00:00Z")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    whole = datetime(
        int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0),
        tzinfo=UTC,
    )  # fmt: skip
    micros = int((fraction or "0").ljust(6, "0")[:6])
    return (int(whole.timestamp()) - _offset(zone)) * 1_000_000 + micros


def _offset(zone: str | None) -> int:
    if zone is None or zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 18 or minutes > 59:
        raise ValueError(f"{zone!r} is not a time zone offset")
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def format_moment(moment: int) -> str:
    """Write a moment as Marquez does: UTC, no fraction where it is zero."""
    seconds, micros = divmod(moment, 1_000_000)
    # strftime writes years before 1000 with fewer than four digits.
    text = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()
    if micros == 0:
        return text + "Z"
    return f"{text}.{micros:06d}Z" if micros % 1000 else f"{text}.{micros // 1000:03d}Z"
