"""The bodies of requests: decompressed and taken apart into events, no further than is allowed."""

import re
import zlib
from collections.abc import Iterator

import msgspec

from headwater.errors import BodyRejected, EventRejected
from headwater.openlineage.sizes import check_values
from headwater.openlineage.tokens import STRING

MOST_EVENTS = 10_000  # of one request
_MOST_PARTS = 1000  # of a gzip body
_BLANK = 10  # lines for each event, blank ones too
_FEW = 200_000  # commas, with which an array is decoded at once
_array = msgspec.json.Decoder(list[msgspec.Raw])
_LINE = re.compile(rb"[^\r\n]+")
_TOKEN = re.compile(STRING + rb"|[\[\]{},]", re.DOTALL)
_SPACE = b" \t\r\n"


def inflate(body: bytes, most: int) -> bytes:
    """Decompress gzip, all of its parts, or zlib; a small body may hold a very large one.

    Raises: BodyRejected, when it is neither, ends too early or is too large.
    """
    parts: list[bytes] = []
    room, rest = most, body
    while rest or not parts:
        inflater = zlib.decompressobj(wbits=47)
        try:
            parts.append(inflater.decompress(rest, room + 1))
        except zlib.error as error:
            raise BodyRejected(400, f"the body is not gzip: {error}") from None
        room -= len(parts[-1])
        if room < 0:
            raise BodyRejected(413, f"the body is over {most:,} bytes when decompressed")
        if not inflater.eof:
            raise BodyRejected(400, "the body is not gzip: it ends too early")
        rest = inflater.unused_data.lstrip(b"\0")  # parts may be padded
        if len(parts) > _MOST_PARTS:
            raise BodyRejected(413, f"the body has over {_MOST_PARTS:,} gzip members")
    return b"".join(parts)


def is_array(body: bytes) -> bool:
    """Whether JSON is an array, by its first character."""
    return body[:64].lstrip(_SPACE)[:1] == b"[" or body.lstrip(_SPACE)[:1] == b"["


def split_lines(body: bytes) -> Iterator[bytes]:
    """The lines of a body, without blank ones.

    Raises: BodyRejected, before the first is given.
    """
    _check_count(max(body.count(b"\n"), body.count(b"\r")) // _BLANK)
    _check_count(sum(1 for _, _ in zip(_LINE.finditer(body), range(MOST_EVENTS + 1), strict=False)))
    lines = (match[0] for match in _LINE.finditer(body))
    return (line for line in lines if not line.isspace())


def split_array(body: bytes) -> Iterator[bytes]:
    """The elements of a JSON array.

    Raises: BodyRejected and EventRejected, before the first is given.
    """
    if body.count(b",") > _FEW:
        places = list(_places(body))
        return (body[start:end] for start, end in places)
    try:
        elements = _array.decode(body)
    except msgspec.DecodeError as error:
        raise EventRejected("", f"the body is not JSON: {error}") from None
    except RecursionError:
        raise EventRejected("", "the body is nested too deeply") from None
    _check_count(len(elements))
    return (bytes(raw) for raw in elements)


def _places(body: bytes) -> Iterator[tuple[int, int]]:
    """Where the elements of an array begin and end; each is read, and checked, on its own."""
    check_values(body)
    depth = start = count = 0
    for match in _TOKEN.finditer(body):
        mark = match[0]
        if mark in b"[{":
            depth += 1
            start = match.end() if depth == 1 else start
        elif mark in b"]}":
            depth -= 1
        if depth == 0 or (depth == 1 and mark == b","):
            count += 1
            _check_count(count)
            yield start, match.start()
            start = match.end()
        if depth == 0:
            break
    if depth != 0 or body[start:].strip(_SPACE):
        raise EventRejected("", "the body is not JSON: the array does not end where it should")


def _check_count(count: int) -> None:
    if count > MOST_EVENTS:
        raise BodyRejected(413, f"the request has over {MOST_EVENTS:,} events; send fewer at once")
