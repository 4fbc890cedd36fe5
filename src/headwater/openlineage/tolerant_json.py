"""Decodes JSON that holds what Python cannot: huge numbers, deep nesting, half surrogate pairs.

Stored events may hold such values, and are served to other keys as they were written.
"""

import json
import re
from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

import msgspec

from headwater.openlineage.tokens import STRING

T = TypeVar("T")
_DIGITS = 19  # of a number that is an integer in 64 bits
_DEEPEST = 100  # levels; what is nested deeper is left out
_TOKEN = re.compile(STRING + rb"|[\[\]{}]", re.DOTALL)
_PAIR = rb"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rb"\\(?:" + _PAIR + rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)


def decode(body: bytes) -> Any:
    """The value of JSON; numbers stay as they were written."""
    return _decode(body, lambda text: msgspec.Raw(text.encode()))


def decode_as(body: bytes | msgspec.Raw, wanted: type[T]) -> T:
    """JSON as a type. A number that Python cannot hold is a text, where the type has any value.

    Raises: msgspec.ValidationError, ValueError, when it is not of the type, or no JSON.
    """
    try:
        return msgspec.json.decode(body, type=wanted)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return msgspec.convert(_decode(bytes(body), _held), wanted)


def _decode(body: bytes, number: Callable[[str], Any]) -> Any:
    text = _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], _without_depth(body))
    return json.loads(text, parse_int=number, parse_float=number)


def _held(text: str) -> int | float | str:
    if text.lstrip("-").isdigit():
        return int(text) if len(text) < _DIGITS else text
    return float(text) if isfinite(float(text)) else text


def _without_depth(body: bytes) -> bytes:
    """JSON with null in place of what is nested too deeply."""
    if body.count(b"[") + body.count(b"{") <= _DEEPEST:
        return body
    parts: list[bytes] = []
    depth = kept = 0
    for found in _TOKEN.finditer(body):
        if found[0] in b"[{":
            depth += 1
            if depth == _DEEPEST + 1:
                parts += (body[kept : found.start()], b"null")
        elif found[0] in b"]}":
            kept = found.end() if depth == _DEEPEST + 1 else kept
            depth -= 1
    return b"".join((*parts, body[kept:])) if parts else body
