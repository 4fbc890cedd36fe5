"""Decodes JSON that holds what Python cannot: huge numbers, deep nesting, half surrogate pairs.

Stored events may hold such values, and are served to other keys as they were written.
"""

import json
import re
from typing import Any

import msgspec

from headwater.openlineage.tokens import STRING

_DEEPEST = 100  # levels; what is nested deeper is left out
_TOKEN = re.compile(STRING + rb"|[\[\]{}]", re.DOTALL)
_PAIR = rb"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rb"\\(?:" + _PAIR + rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)


def decode(body: bytes) -> Any:
    """The value of JSON; numbers that cannot be held stay as they were written."""
    text = _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], _without_depth(body))
    return json.loads(text, parse_int=_number, parse_float=_number)


def _number(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


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
