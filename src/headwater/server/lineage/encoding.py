"""Writes answers in JSON, within a number of bytes.

One name may stand in an answer thousands of times, so that what was read tells little of how much
is written. The encoder is given a buffer that cannot grow: it stops where the room ends.
"""

import threading
from typing import Any

import msgspec

from headwater.errors import AnswerTooLarge

MOST_BYTES = 40 * 2**20  # of an answer
_SMALL = 2**16  # bytes of an answer that is written beside others
_ROOMS = (2**21, 12 * 2**20, MOST_BYTES)  # tried in order: most large answers are not that large
_encoder = msgspec.json.Encoder()
_turn = threading.Lock()


def encode_answer(body: Any) -> bytes:
    """An answer in JSON.

    Raises: AnswerTooLarge.
    """
    written = _write(body, _SMALL)
    if written is not None:
        return written
    with _turn:  # many large ones at once would fill the memory
        for room in _ROOMS:
            written = _write(body, room)
            if written is not None:
                return written
    raise AnswerTooLarge


def _write(body: Any, room: int) -> bytes | None:
    """The answer, if it fits into so many bytes."""
    buffer = bytearray(room)
    with memoryview(buffer):  # as long as there is one, a buffer refuses to be made larger
        try:
            _encoder.encode_into(body, buffer)
        except BufferError:
            return None
    return bytes(buffer)
