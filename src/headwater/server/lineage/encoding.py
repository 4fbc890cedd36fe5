"""Writes answers in JSON, within a number of bytes.

One name may stand in an answer thousands of times, so that what was read tells little of how much
is written. An answer is written part by part until the room ends. A part that may itself be large
is written into a buffer that cannot grow: the encoder stops where that ends.
"""

import threading
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from headwater.errors import AnswerTooLarge

MOST_BYTES = 40 * 2**20  # of an answer
_PART = 2**16  # bytes that are written at once
_FIRST, _TOGETHER = 16, 64  # items of a list that are written at once, at first and at most
_SMALL = 2**21  # bytes of an answer that is written beside others
_ROOMS = (_SMALL, 12 * 2**20, MOST_BYTES)  # of one item, tried in order: most are not that large
_ZEROS = memoryview(bytes(_PART))
Buffer = bytes | memoryview
_encoder = msgspec.json.Encoder()
_turn = threading.RLock()


class _Scratch(threading.local):
    """A buffer for parts of answers, one for each thread: making one takes longer than a part."""

    def __init__(self) -> None:
        self.buffer = bytearray(_PART)


_scratch = _Scratch()


def encode_answer(body: Any) -> bytes:
    """An answer in JSON.

    Raises: AnswerTooLarge.
    """
    whole = _part(body) if _is_short(body) else None
    if whole is not None:
        return whole
    written, size, has_turn = BytesIO(), 0, False  # it gives what it holds without a copy
    try:
        for part in _parts(body):
            size += written.write(part)
            if size > MOST_BYTES:
                raise AnswerTooLarge
            if size > _SMALL and not has_turn:  # many large ones at once would fill the memory
                has_turn = _turn.acquire()
        return written.getvalue()
    finally:
        if has_turn:
            _turn.release()


def _is_short(body: Any) -> bool:
    """Whether an answer most likely fits into one part."""
    if isinstance(body, Struct):
        values = [getattr(body, field) for field in body.__struct_fields__]
    else:
        values = [*body.values()] if isinstance(body, dict) else [body]
    return not any(isinstance(value, list) and len(value) > _FIRST for value in values)


def _parts(body: Any) -> Iterator[Buffer]:
    if isinstance(body, list):
        yield from _list_parts(body)
        return
    members = _members(body)
    if members is None:
        yield _item(body)
        return
    before = b"{"
    for name, value in members.items():
        yield before + _encoder.encode(name) + b":"
        yield from _list_parts(value) if isinstance(value, list) else (_item(value),)
        before = b","
    yield b"}" if members else b"{}"


def _members(body: Any) -> dict[str, Any] | None:
    """What an object holds by name; None where that is not plain."""
    if isinstance(body, Struct):
        kind = type(body)
        names = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
        if kind.__struct_config__.omit_defaults or kind.__struct_config__.tag:
            return None
        members = ((name, getattr(body, field)) for name, field in names)
        return {name: value for name, value in members if value is not UNSET}
    return body if isinstance(body, dict) else None


def _list_parts(items: list[Any]) -> Iterator[Buffer]:
    before, start, count = b"[", 0, _FIRST
    while start < len(items):
        some = items[start : start + count]
        written = _part(some)
        if written is None and count > 1:
            count //= 2
            continue
        yield before
        yield _item(some[0]) if written is None else memoryview(written)[1:-1]
        before, start = b",", start + count
        if written is not None and len(written) < _PART // 4:
            count = min(2 * count, _TOGETHER)
    yield b"]" if items else b"[]"


def _item(value: Any) -> bytes:
    """One value.

    Raises: AnswerTooLarge.
    """
    written = _part(value)
    for room in _ROOMS if written is None else ():
        with _turn:
            written = _within(bytearray(room), value)
        if written is not None:
            break
    if written is None:
        raise AnswerTooLarge
    return written


def _part(value: Any) -> bytes | None:
    """A value, if it is small."""
    buffer = _scratch.buffer
    buffer += _ZEROS[len(buffer) :]  # it was cut off after what was written last
    return _within(buffer, value)


def _within(buffer: bytearray, value: Any) -> bytes | None:
    """A value, if it fits into a buffer."""
    with memoryview(buffer):  # as long as there is one, a buffer refuses to be made larger
        try:
            _encoder.encode_into(value, buffer)
        except BufferError:
            return None
    return bytes(buffer)
