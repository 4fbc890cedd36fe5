"""Takes secrets out of events before anything is stored, logged or served."""

import json
import re
from collections.abc import Iterable
from math import isfinite
from typing import Any, NoReturn

import msgspec

from headwater.errors import EventRejected, TakesLong, UsageError
from headwater.openlineage.masking import Masker, Report, has_duplicates, mask_event
from headwater.server.ingest.prefilter import may_hold_secrets
from headwater.server.metrics import MASKED

_TOO_DEEP = "the body is nested too deeply to be searched for secrets"


class Scrubber:
    """Masks secrets and counts them; more keys that look like secrets may be given as patterns."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        try:
            self._masker = Masker(patterns)
        except re.error as error:
            raise UsageError(
                f"HEADWATER_MASK: {error}", hint="Give regular expressions, separated by commas"
            ) from None

    def scrub(self, raw: bytes, rest: bytes | None = None, most: int | None = None) -> bytes:
        """An event without secrets; the same bytes where there are none.

        `rest` is the part of it that was not found clean before.

        Raises: EventRejected, when it is nested too deeply. TakesLong, when it has over `most`
            bytes and has to be searched value by value.
        """
        if not self._is_suspect(raw, raw if rest is None else rest):
            return raw
        if most is not None and len(raw) > most:
            raise TakesLong
        try:
            event = _decode(raw)
            clean, report = mask_event(self._masker, event)
            if report:
                _count(report)
            elif not has_duplicates(raw):
                return raw
            return msgspec.json.encode(clean)
        except RecursionError:
            raise EventRejected("", _TOO_DEEP) from None
        except (msgspec.DecodeError, ValueError):
            return self.text(raw.decode(errors="replace")).encode(errors="replace")

    def _is_suspect(self, raw: bytes, rest: bytes) -> bool:
        if not self._masker.patterns:
            return may_hold_secrets(rest)
        # What else a pattern may match, JSON may write in many ways.
        if not self._masker.is_plain or may_hold_secrets(rest):
            return True
        lowered = raw.lower()
        return any(word.lower().encode() in lowered for word in self._masker.patterns)

    def message(self, raw: bytes) -> bytes:
        """Bytes of any kind without secrets; nothing of them where they cannot be searched."""
        try:
            return self.scrub(raw)
        except EventRejected:
            return b""

    def value(self, value: Any) -> Any:
        """A JSON value without secrets."""
        report = Report()
        clean = self._masker.value(value, report)
        _count(report)
        return clean

    def name(self, name: str) -> str:
        """A name without secrets, the same as it is stored from events."""
        report = Report()
        clean = self._masker.name(name, report)
        _count(report)
        return clean

    def text(self, text: str) -> str:
        """A text without secrets."""
        report = Report()
        clean = self._masker.text(text, report)
        _count(report)
        return clean


def _decode(raw: bytes) -> Any:
    """A document; a number beyond those of a double stays as it is written."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        if "out of range" not in str(error):
            raise
        return json.loads(raw, parse_float=_number, parse_constant=_refuse)


def _number(digits: str) -> float | msgspec.Raw:
    number = float(digits)
    return number if isfinite(number) else msgspec.Raw(digits.encode())


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _count(report: Report) -> None:
    for rule, count in report.rules.items():
        MASKED.labels(rule).inc(count)
