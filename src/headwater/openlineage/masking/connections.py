"""Finds the values in braces of ODBC's connection strings: `Driver={SQL Server};Pwd={x};`.

Templates of code have the same form (`PWD={password};Server={host}`): a word in braces that names a
secret is a placeholder, and so is every word of a text with other such words in it.
"""

import re

from headwater.openlineage.masking.keys import is_sensitive
from headwater.openlineage.masking.values import Value

_BRACED = re.compile(r"\{((?:[^{}\n\"]|\}\}){0,300})\}(?=[\s;\"']|\Z)")
_BEFORE = re.compile(r"(?:\A|[;=\"'\s])\Z")
_PAIR_BEFORE = re.compile(r";\s{0,5}\Z")
_TEMPLATE = re.compile(r"=\s{0,3}\{\w{0,64}\}")
_NUMBERED = re.compile(r"\d{0,2}(?:![rs])?")
_AROUND = 150


def find_braced(text: str, name_at: int, at: int) -> Value | None:
    """The value in braces that begins at a place of a connection string."""
    found = _BRACED.match(text, at)
    if found is None or not _BEFORE.search(text[max(0, name_at - 1) : name_at]):
        return None
    is_connection = text.startswith(";", found.end()) or _PAIR_BEFORE.search(
        text[max(0, name_at - 10) : name_at]
    )
    if not is_connection or _is_placeholder(text, found):
        return None
    return Value(found.start(1), found.end(1), False)


def _is_placeholder(text: str, found: re.Match[str]) -> bool:
    word = found[1]
    if _NUMBERED.fullmatch(word) or (is_sensitive(word) and word.isidentifier()):
        return True
    begin = max(text.rfind("\n", 0, found.start()) + 1, found.start() - _AROUND)
    others = (*_TEMPLATE.finditer(text, begin, found.start() - 1),
              *_TEMPLATE.finditer(text, found.end(), found.end() + _AROUND))  # fmt: skip
    return word.isidentifier() and any(
        not is_sensitive(_name_before(text, other.start())) for other in others
    )


def _name_before(text: str, at: int) -> str:
    return re.split(r"[;\s\"']", text[max(0, at - 40) : at])[-1]
