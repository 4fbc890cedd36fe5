"""Masks blocks with private keys: PEM, OpenPGP, SSH2 and PuTTY, also as lists of their lines."""

import re
from collections import deque
from typing import Any

from headwater.openlineage.masking.addresses import MASK, Noted

# In lower case; one of them is in every text with a block.
BLOCK_HINTS = ("private key", "private-lines:")
_BEGIN = r"(?:----[- ]BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-{4,5}|Private-Lines:\s{0,5}\d)"
_END = (
    r"(?:----[- ]END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-{4,5}"
    r"|Private-(?:MAC|Hash):\s{0,5}[0-9a-fA-F]{1,128})"
)
_BLOCK = re.compile(rf"{_BEGIN}.*?(?:{_END}|\Z)", re.DOTALL)
_OPENING = re.compile(_BEGIN)
_MOST_LINES = 400  # of a key
_CLOSED = re.compile(_END)
# A line of a block that has no end.
_LINE = re.compile(r"\s*+(?:[A-Za-z0-9+/=]{1,200}|[A-Z][A-Za-z-]{1,30}: [^\n]{1,200})?\s*+\\?\Z")


def mask_blocks(text: str, noted: Noted) -> str:
    """A text without private keys; one that is cut off is masked to the end of the text."""

    def masked(_: re.Match[str]) -> str:
        noted("key block")
        return MASK

    return _BLOCK.sub(masked, text)


def find_key_end(values: list[Any], index: int) -> int:
    """Where the lines end, in a list, of the private key whose first line has an index."""
    last = deque(_OPENING.finditer(values[index]), maxlen=1)
    is_first = bool(last) and _CLOSED.search(values[index], last[0].end()) is None
    return _end_of_key(values, index + 1) if is_first else 0


def _end_of_key(values: list[Any], begin: int) -> int:
    end = min(len(values), begin + _MOST_LINES)
    texts = range(begin, end)
    for index in texts:
        if isinstance(values[index], str) and _CLOSED.search(values[index]):
            return index + 1
    for index in texts:
        if not isinstance(values[index], str) or not _LINE.match(values[index]):
            return index
    return end
