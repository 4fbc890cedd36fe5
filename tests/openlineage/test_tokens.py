"""Strings of JSON are found in one pass, whether they end or not."""

import json
import re

import pytest

from headwater.openlineage.tokens import STRING

_string = re.compile(STRING, re.DOTALL)


@pytest.mark.parametrize("text", ["", "a", 'q"q', "\\", "\\\\", "\n", '\\"', "é", "{[,]}"])
def test_a_string_ends_where_it_ends(text: str) -> None:
    written = json.dumps(text).encode()
    found = _string.match(written + b', "next": 1')
    assert found
    assert found[0] == written


@pytest.mark.parametrize("rest", [b"", b"a", b'\\"' * 50_000, b"\\", b"\\\\", b'a\\"b\\', b"\n"])
def test_one_that_does_not_end_is_never_begun_again(rest: bytes) -> None:
    places = [found.span() for found in _string.finditer(b'["' + rest)]
    assert places == [(1, 2 + len(rest))]
