"""A text with the values that are cut out of it, each with the literals that are joined to it."""

import re

from headwater.openlineage.masking.addresses import MASK, Noted
from headwater.openlineage.masking.values import Value, find_quoted, is_empty

_CLOSED = r"(?:\"\"\"|'''|\\{0,7}[\"'`]|\$\w{0,63}\$)"
_NEXT = r"(?=[A-Za-z@$_&]{0,8}\\{0,7}[\"'`]|\$\w{0,63}\$)"
_JOINED = re.compile(
    rf"{_CLOSED}\s{{0,80}}(?:(?:\|\||\+)\s{{0,80}}(?:[A-Za-z_][\w.]{{0,63}}\s{{0,20}}(?:\|\||\+)"
    rf"\s{{0,80}})?|(?<=\s)(?=[\"'`]))(?:\\\n\s{{0,80}})?{_NEXT}"
)
_LISTED = re.compile(rf"{_CLOSED}\s{{0,80}},\s{{0,80}}{_NEXT}")


class Cuts:
    """Collects what is to be masked, from the start of a text to its end."""

    def __init__(self, text: str, noted: Noted) -> None:
        self.text, self.done = text, 0
        self._noted = noted
        self._parts: list[str] = []

    def mask(self, value: Value | None, *, is_list: bool = False) -> bool:
        """Mask a value with what is joined to it, and of a list every element; whether it was."""
        if value is None or value.start < self.done:
            return False
        if is_empty(self.text[value.start : value.end]):
            return False
        self._noted("assignment")
        following: Value | None = value
        while following is not None:
            self._cut(following)
            following = self._following(following, is_list) if following.is_quoted else None
        return True

    def result(self) -> str:
        """The text without what was masked."""
        return "".join([*self._parts, self.text[self.done :]]) if self._parts else self.text

    def _cut(self, value: Value) -> None:
        self._parts += [self.text[self.done : value.start], MASK]
        self.done = max(value.end, self.done)

    def _following(self, value: Value, is_list: bool) -> Value | None:
        joined = _JOINED.match(self.text, value.end)
        if joined is not None and "\n" in joined[0] and self._is_comment(value.start):
            return None
        if joined is None and is_list:
            joined = _LISTED.match(self.text, value.end)
        found = find_quoted(self.text, joined.end()) if joined is not None else None
        return found if found is not None and found.end > found.start else None

    def _is_comment(self, at: int) -> bool:
        """Whether a place is in a comment of SQL that ends with its line."""
        line = self.text.rfind("\n", max(0, at - 300), at)
        return self.text.find("--", max(line, 0, at - 300), at) >= 0
