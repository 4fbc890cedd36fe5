"""How large an event may be: in bytes, and in values, which take far more memory than bytes."""

from headwater.errors import EventTooLarge

MOST_BYTES = 8 * 2**20  # 20,000 columns with their lineage take 5 MB
_BYTES_A_VALUE = 10  # columns with names of one letter take 13
_SMALL = 65_536  # bytes of JSON whose values need no counting


def check_size(raw: bytes, most: int = MOST_BYTES) -> None:
    """Refuse an event that is too large to be decoded.

    Raises: EventTooLarge.
    """
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
