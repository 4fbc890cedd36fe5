"""Masks secrets in texts and in JSON values, and reports what it masked.

What lies too deep to be looked at is masked as a whole: nothing passes unseen.
"""

import json
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from headwater.openlineage.masking.addresses import MASK, mask_addresses
from headwater.openlineage.masking.assignments import mask_assignments
from headwater.openlineage.masking.blocks import find_key_end
from headwater.openlineage.masking.counts import is_measure
from headwater.openlineage.masking.documents import read_document
from headwater.openlineage.masking.formats import RENEWED, SIGNATURES, mask_formats
from headwater.openlineage.masking.hints import has_hint
from headwater.openlineage.masking.keys import is_sensitive, is_sensitive_in_text
from headwater.openlineage.masking.labels import mask_labelled
from headwater.openlineage.masking.report import Report, TooManySecrets
from headwater.openlineage.masking.schemas import (
    BY_COLUMN,
    are_types,
    is_description,
    is_value,
)
from headwater.openlineage.masking.types import is_type
from headwater.openlineage.masking.values import is_empty, is_reference

DEEPEST = 100
LONGEST = 2**20  # letters of a text that is searched: a pattern takes 0.1 s for so many
_SHORTEST = 4
_SHORTEST_TOKEN = 16
_REMEMBERED, _REMEMBERED_LENGTH = 20_000, 200
# Keys whose values name things. Only credentials in addresses are masked in them.
_NAMES = frozenset({
    "namespace", "name", "field", "_producer", "_schemaURL", "producer", "schemaURL", "runId",
    "eventTime",
})  # fmt: skip
_LABELS = tuple(
    spelled
    for label in ("name", "key", "property", "option", "header", "parameter", "variable")
    for spelled in (label, label.capitalize(), label.upper())
)
_LABELLED = frozenset({"value", "val", "default", "default_value", "defaultValue", "Value", "VALUE",
                       "recommended_values", "current_value", "currentValue"})  # fmt: skip
_FLAG = re.compile(r"--?([A-Za-z][\w.-]*)")
# Beside these, `pass` is a count.
_COUNTS = frozenset({"fail", "failed", "warn", "skip", "skipped", "error", "errors", "total"})
# A text that is too short for a secret, and has no sign that one is assigned.
_HARMLESS = re.compile(r"[^=:\"'<(@]{0,12}")
_PLAIN = re.compile(r"[A-Za-z0-9_]+")
_PARAMETER = re.compile(r"([?&;]([\w.$-]++)=)([^&;\s\"'<>]++)")


class Masker:
    """Masks secrets; more patterns of sensitive keys may be given.

    Raises: re.error, when a pattern is no regular expression.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.patterns = tuple(pattern for pattern in patterns if pattern)
        joined = "|".join(f"(?:{one})" for one in self.patterns)
        # Plain words are compared as the built-in ones are, in ASCII.
        flags = re.IGNORECASE | (re.ASCII if self.is_plain else re.UNICODE)
        self._more = re.compile(joined, flags) if joined else None
        # Short texts without secrets, which come again in every event: types, names, versions.
        self._clean: set[str] = set()

    @property
    def is_plain(self) -> bool:
        """Whether the patterns, if there are any, are words."""
        return all(_PLAIN.fullmatch(pattern) for pattern in self.patterns)

    def is_sensitive(self, key: str) -> bool:
        """Whether the value of a key is a secret, by its name."""
        return is_sensitive(key) or (self._more is not None and self._more.search(key) is not None)

    def text(self, text: str, report: Report | None = None) -> str:
        """A text without secrets."""
        if len(text) < _SHORTEST or text in self._clean:
            return text
        clean = self._searched(text, Report() if report is None else report)
        if len(text) <= _REMEMBERED_LENGTH and clean == text:
            if len(self._clean) >= _REMEMBERED:
                self._clean.clear()
            self._clean.add(text)
        return clean

    def name(self, name: str, report: Report | None = None) -> str:
        """A name without the credentials of an address, masked as names in events are."""
        return self._name(name, Report() if report is None else report)

    def value(self, value: Any, report: Report | None = None) -> Any:
        """A JSON value without secrets."""
        return self._value(value, Report() if report is None else report, False)

    def _searched(self, text: str, report: Report) -> str:
        """A text without secrets, or none of it where there are too many to look for."""
        if not report.is_full:
            try:
                return self._text(text, report)
            except TooManySecrets:
                pass
        if _HARMLESS.fullmatch(text):
            return text
        report.note("size")
        return MASK

    def _text(self, text: str, report: Report) -> str:
        if text.lstrip()[:1] in ("{", "["):
            document = read_document(text)
            if document is not None:
                return self._document(text, document, report)
        if len(text) > LONGEST:
            if not has_hint(text) and (self._more is None or not self._more.search(text)):
                return text
            raise TooManySecrets
        text = mask_addresses(text, report.note_in_text)
        text = mask_formats(text, report.note_in_text)
        text = mask_labelled(text, self._is_sensitive_in_text, report.note_in_text)
        return mask_assignments(text, self._is_sensitive_in_text, report.note_in_text)

    def _is_sensitive_in_text(self, key: str) -> bool:
        return is_sensitive_in_text(key) or (
            self._more is not None and self._more.search(key) is not None
        )

    def _document(self, text: str, document: Any, report: Report) -> str:
        """JSON in a text: its own formatting stays unless something in it is masked."""
        before = report.rules.total()
        report.enter("$")
        clean = self._value(document, report, False)
        report.leave()
        return text if report.rules.total() == before else json.dumps(clean)

    def _value(self, value: Any, report: Report, by_column: bool) -> Any:
        if isinstance(value, str):
            return self.text(value, report)
        if not isinstance(value, dict | list):
            return value
        if report.depth >= DEEPEST:
            report.note("depth")
            return MASK
        if isinstance(value, list):
            return self._list(value, report, by_column)
        return self._object(value, report, by_column)

    def _list(self, values: list[Any], report: Report, by_column: bool) -> list[Any]:
        pairs = bool(values) and all(_is_pair(one) for one in values)
        pairs = pairs and not are_types(one[1] for one in values)
        key_end = 0  # of the lines of a private key
        if _is_command(values):
            values = self._command(values, report)
        found: list[Any] = []
        for index, one in enumerate(values):
            report.enter(str(index))
            if index < key_end:
                found.append(MASK)
            elif pairs and self.is_sensitive(one[0]):
                found.append([one[0], self._secret(one[1], report)])
            else:
                clean = self._value(one, report, by_column)
                if clean is not one and isinstance(one, str):
                    key_end = find_key_end(values, index)
                found.append(clean)
            report.leave()
        return found

    def _command(self, words: list[str], report: Report) -> list[str]:
        """The arguments of a command, in which a secret may stand after the name of its option."""
        found = words
        if not any(re.search(r"\s", word) for word in words):
            masked = self.text(" ".join(words), report).split(" ")
            found = masked if len(masked) == len(words) else words
        return found[:1] + [
            self._secret(word, report) if self._is_argument(option, word) else word
            for option, word in pairwise(found)
        ]

    def _is_argument(self, option: str, word: str) -> bool:
        """Whether a word is the secret of the option before it."""
        flag = _FLAG.fullmatch(option)
        return flag is not None and word[:1] != "-" and self._is_sensitive_in_text(flag[1])

    def _object(
        self, values: dict[str, Any], report: Report, by_column: bool, *, described: bool = False
    ) -> dict[str, Any]:
        labelled = not _LABELLED.isdisjoint(values) and self._is_labelled(values)
        found: dict[str, Any] = {}
        is_counted = not _COUNTS.isdisjoint(values)
        for key, value in values.items():
            if key == "pass" and is_counted and isinstance(value, int | float):
                found[key] = value
                continue
            shown = key if _is_plain_key(key) else self.text(key, report)
            report.enter(shown)
            if (labelled and key in _LABELLED) or (described and is_value(key, value)):
                found[shown] = self._secret(value, report)
            else:
                found[shown] = self._entry(key, values, report, by_column)
            report.leave()
        return found

    def _entry(self, key: str, values: dict[str, Any], report: Report, by_column: bool) -> Any:
        value = values[key]
        if isinstance(value, str) and key in _NAMES:
            return self._name(value, report)
        if key in BY_COLUMN and isinstance(value, dict):
            return self._value(value, report, True)
        if not self.is_sensitive(key):
            return self._value(value, report, by_column)
        if len(values) > 1 and are_types(values.values()):
            return value
        if by_column:
            return self._column(value, report)
        return self._secret(value, report, counted=is_measure(key))

    def _column(self, value: Any, report: Report) -> Any:
        """What stands under the name of a secret where keys are names of columns."""
        if isinstance(value, str) and is_type(value):
            return value
        if report.depth < DEEPEST and is_description(value):
            return self._object(value, report, True, described=True)
        if report.depth >= DEEPEST or not isinstance(value, list):
            return self._secret(value, report)
        found = []
        for index, one in enumerate(value):
            report.enter(str(index))
            found.append(self._column(one, report))
            report.leave()
        return found

    def _name(self, name: str, report: Report) -> str:
        """A name, which is masked alike in every event, so that lineage stays joined."""
        name = mask_addresses(name, report.note)
        is_signed = any(found[2].lower() in SIGNATURES for found in _PARAMETER.finditer(name))
        return _PARAMETER.sub(lambda found: self._parameter(found, is_signed, report), name)

    def _parameter(self, found: re.Match[str], is_signed: bool, report: Report) -> str:
        key = found[2].lower()
        is_masked = is_signed and (key in SIGNATURES or key in RENEWED)
        if not (is_masked or self._is_sensitive_in_text(found[2])) or is_empty(found[3]):
            return found[0]
        report.note("address")
        return f"{found[1]}{MASK}"

    def _is_labelled(self, values: dict[str, Any]) -> bool:
        """Whether a value stands beside the name of a secret."""
        labels = (values.get(label) for label in _LABELS)
        return any(isinstance(label, str) and self.is_sensitive(label) for label in labels)

    def _secret(self, value: Any, report: Report, *, counted: bool = False) -> Any:
        """What stands under the name of a secret: every text and number in it."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str) and (value == MASK or not value or is_reference(value)):
            return value
        if counted and isinstance(value, int | float):
            return value  # a count
        if isinstance(value, dict | list) and report.depth < DEEPEST:
            return self._secrets(value, report, counted)
        report.note("key")
        return MASK

    def _secrets(self, value: Any, report: Report, counted: bool) -> Any:
        places = value.items() if isinstance(value, dict) else enumerate(value)
        found = []
        for place, inner in places:
            report.enter(str(place))
            found.append((place, self._secret(inner, report, counted=counted)))
            report.leave()
        return dict(found) if isinstance(value, dict) else [one for _, one in found]


def _is_plain_key(key: str) -> bool:
    """Whether a key is a name and too short for a token."""
    return len(key) < _SHORTEST_TOKEN and key.isidentifier()


def _is_command(values: list[Any]) -> bool:
    return (
        len(values) > 1
        and all(isinstance(word, str) for word in values)
        and any(word.startswith("-") for word in values)
    )


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)
