"""How large an event may be: in bytes, in values, which take far more memory, and in digits."""

import re

from headwater.errors import EventRejected, EventTooLarge
from headwater.openlineage.tokens import STRING

MOST_BYTES = 8 * 2**20  # 20,000 columns with their lineage take 5 MB
_BYTES_A_VALUE = 10  # columns with names of one letter take 13
_SMALL = 65_536  # bytes of JSON whose values need no counting
_MOST_DIGITS = 1000  # of a number: Java's and Python's parsers refuse all of an answer with more
_STEP = _MOST_DIGITS // 2  # a longer number holds all that is between two of such places
_TWO_DIGITS = re.compile(rb"(?=[0-9]{2})")
_LONG = re.compile(rb"[0-9]{%d}" % (_MOST_DIGITS + 1))
_STRING = re.compile(STRING, re.DOTALL)


def check_size(raw: bytes, most: int = MOST_BYTES) -> None:
    """Refuse an event that is too large to be decoded.

    Raises: EventTooLarge, EventRejected.
    """
    _check_digits(raw)
    if len(raw) <= _SMALL:
        return
    if len(raw) > most:
        raise EventTooLarge(f"the event has {len(raw):,} bytes; {most:,} is the most")
    check_values(raw)


def check_values(raw: bytes) -> None:
    """Refuse JSON of mostly brackets and commas, which takes 40 times its size when decoded.

    Raises: EventTooLarge.
    """
    most = max(_SMALL, len(raw) // _BYTES_A_VALUE)
    if any(raw.count(mark) > most for mark in (b",", b"[", b"{")):
        raise EventTooLarge(f"the body has over {most:,} values in its {len(raw):,} bytes")


def _check_digits(raw: bytes) -> None:
    places = (found.start() * _STEP for found in _TWO_DIGITS.finditer(raw[::_STEP]))
    if not any(raw[place : place + _STEP].isdigit() for place in places):
        return
    if _LONG.search(_STRING.sub(b'""', raw)):
        raise EventRejected("", f"a number has over {_MOST_DIGITS:,} digits; send it as a text")
