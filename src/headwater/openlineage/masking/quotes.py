"""Tells whether a quote opens a text, or closes the one with the name: `input("Token: ")`."""

import re

from headwater.openlineage.masking.values import Value, find_quoted

# What follows the quote at the end of a text, but hardly the one at the start of a secret.
_CLOSED = re.compile(
    r"[\"'`]\s{0,20}(?:\Z|\n|[)\]};,:]++(?=[\s);,.:]|\Z)"
    r"|(?:\+|\|\||%|&|<<)\s{0,5}[\w$(\"'`]|(?<=\s)[\w$&|>])"
)
_JOINED = re.compile(r"[\"'`]\s{0,20}(?:\+|\|\|)\s{0,20}(?=[A-Za-z]{0,2}[\"'`])")
_CONCATENATED = re.compile(
    r"[\"'`]\s{0,20}(?:\+|\|\||&|\.)\s{0,20}[\w.$()\[\]]{1,100}\s{0,20}(?:\+|\|\||&|\.)\s{0,20}[\"'`]"
)
_APOSTROPHE = re.compile(r"(?<=[A-Za-z])'(?=[A-Za-z])")


class Quotes:
    """Counts the quotes of each line of a text, from its start to its end."""

    def __init__(self, text: str) -> None:
        self._text, self._done = text, 0
        self._odd = dict.fromkeys("\"'`", False)

    def closes(self, at: int) -> bool:
        """Whether the quote at a place closes a text that began before it."""
        return self._is_open(at) and _CLOSED.match(self._text, at) is not None

    def _is_open(self, at: int) -> bool:
        if at < self._done:
            return False
        line = self._text.rfind("\n", self._done, at) + 1
        if line:
            self._odd = dict.fromkeys(self._odd, False)
        begin = max(line, self._done)
        for quote in self._odd:
            self._odd[quote] ^= self._count(quote, begin, at) % 2 == 1
        self._done = at
        return self._odd[self._text[at]]

    def _count(self, quote: str, begin: int, end: int) -> int:
        count = self._text.count(quote, begin, end) - self._text.count("\\" + quote, begin, end)
        if quote == "'" and count:
            count -= sum(1 for _ in _APOSTROPHE.finditer(self._text, begin, end))
        return count


def find_joined(text: str, at: int) -> Value | None:
    """The text in quotes that is joined to the one that a quote at a place closes."""
    joined = _JOINED.match(text, at)
    return find_quoted(text, joined.end()) if joined is not None else None


def is_concatenation(value: str) -> bool:
    """Whether what seems to stand in quotes is code between two texts: `'" + password + "'`."""
    return _CONCATENATED.fullmatch(value) is not None
