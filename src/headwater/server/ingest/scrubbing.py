"""Takes secrets out of events before anything is stored, logged or served.

A look over the raw bytes decides whether an event has anything that may be a secret at all;
most do not, and are left byte for byte. Of the others, values under keys that look like those of
secrets, credentials inside addresses and `password=…` inside texts are masked.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from ahocorasick_rs import BytesAhoCorasick, Implementation

from headwater.errors import UsageError
from headwater.openlineage.masking import MASK

_KEY = (
    r"passw|passphrase|pwd|secret|token|credential|api[._-]?key|private[._-]?key|access[._-]?key|"
    r"account[._-]?key|client[._-]?key|shared[._-]?key|auth\.user\.info|user\.info|jaas|"
    r"authorization|connection[._-]?string|session[._-]?id|cookie"
)
# What the bytes of an event are looked through for: each a part of what `_KEY` finds.
_WORDS = (
    b"passw", b"passphrase", b"pwd", b"secret", b"token", b"credential", b"apikey", b"api_key",
    b"api-key", b"api.key", b"privatekey", b"private_key", b"private-key", b"private.key",
    b"accesskey", b"access_key", b"access-key", b"access.key", b"accountkey", b"account_key",
    b"account-key", b"account.key", b"clientkey", b"client_key", b"client-key", b"client.key",
    b"sharedkey", b"shared_key", b"shared-key", b"shared.key", b"user.info", b"jaas",
    b"authorization", b"bearer ", b"basic ", b"connectionstring", b"connection_string",
    b"connection-string", b"connection.string", b"sessionid", b"session_id", b"session-id",
    b"session.id", b"cookie", b"private key", b"akia", b"sig=", b"\\u00",
)  # fmt: skip
# All words in one pass: 40 µs for an event of 30 KB, where `re` takes 600.
_words = BytesAhoCorasick(_WORDS, implementation=Implementation.DFA)
_ADDRESS = re.compile(r"(://)[^/\s\"'?#@:]*(?::[^/\s\"'?#]*)?@")
_RAW_ADDRESS = re.compile(rb":(?://|\\/\\/)[^/\"\s]*@")
_QUOTED = r"""\\?"(?:[^"\\]|\\.)*\\?"|'[^']*'|[^\s,;&'"\])}]+"""
_BEARER = re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL
)
_AWS = re.compile(r"\bA(?:KIA|SIA)[0-9A-Z]{16}\b")
_SIGNED = re.compile(r"\b(sig|X-Amz-Signature|X-Goog-Signature)=[^&\s\"']+", re.IGNORECASE)
_NAMES = frozenset({"namespace", "name", "field", "_producer", "_schemaURL", "runId", "eventTime"})
# Facets whose keys are names of columns, and whose values are no secrets.
_BY_COLUMN = frozenset({"schema", "columnLineage", "dataQualityMetrics", "dataQualityAssertions"})
_LABELS = ("name", "key", "property", "option", "header")


class Scrubber:
    """Masks secrets in events; more keys that look like secrets may be given as patterns."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        more = [pattern for pattern in patterns if pattern]
        try:
            self._more = re.compile("|".join(more).encode(), re.IGNORECASE) if more else None
            self._key = re.compile("|".join([_KEY, *more]), re.IGNORECASE)
        except re.error as error:
            raise UsageError(
                f"HEADWATER_MASK: {error}", hint="Give regular expressions, one after a comma"
            ) from None
        keys = "|".join([_KEY, *more])
        # `password=x`, `password: 'x'`, `"password" : "x"`, and SQL's `PASSWORD 'x'`.
        self._told = re.compile(
            rf"""((?:{keys})[\w.-]{{0,100}}\\?["']?\s*(?:=>|[=:]|\s(?=['"]))\s*)(?:{_QUOTED})""",
            re.IGNORECASE,
        )

    def scrub(self, raw: bytes, rest: bytes | None = None) -> bytes:
        """An event, or any JSON, without secrets; the same bytes where there are none.

        `rest` is the part of it that was not found clean before.
        """
        if not self._is_suspect(raw if rest is None or self._more else rest):
            return raw
        try:
            told = msgspec.json.decode(raw)
            clean = self.value(told)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return raw  # which is refused when it is read
        return raw if clean == told else msgspec.json.encode(clean)

    def _is_suspect(self, raw: bytes) -> bool:
        if _words.find_matches_as_indexes(raw.lower()):
            return True
        if b"@" in raw and _RAW_ADDRESS.search(raw):
            return True
        return self._more is not None and self._more.search(raw) is not None

    def value(self, told: Any) -> Any:
        """A JSON value without secrets."""
        if isinstance(told, str):
            return self.text(told)
        if isinstance(told, list):
            return [self.value(one) for one in told]
        if isinstance(told, dict):
            return {key: self._entry(told, key, inner) for key, inner in told.items()}
        return told

    def _entry(self, whole: dict[str, Any], key: str, inner: Any) -> Any:
        if key in _BY_COLUMN and isinstance(inner, dict):
            return _plain(inner)
        if isinstance(inner, str) and key in _NAMES:
            return _ADDRESS.sub(rf"\1{MASK}@", inner)
        if self._key.search(key) or (key == "value" and self._is_labelled(whole)):
            return _masked(inner)
        return self.value(inner)

    def _is_labelled(self, whole: dict[str, Any]) -> bool:
        """Whether a `value` stands beside the name of a secret."""
        labels = (whole.get(label) for label in _LABELS)
        return any(isinstance(label, str) and self._key.search(label) for label in labels)

    def text(self, told: str) -> str:
        """A text without secrets."""
        if len(told) < 4:
            return told
        told = _ADDRESS.sub(rf"\1{MASK}@", told)
        told = _BEARER.sub(rf"\1 {MASK}", told)
        told = self._told.sub(rf"\1{MASK}", told)
        told = _SIGNED.sub(rf"\1={MASK}", told)
        return _AWS.sub(MASK, _BLOCK.sub(MASK, told))


def _masked(told: Any) -> Any:
    if told is None or isinstance(told, bool) or told == "":
        return told
    if isinstance(told, list):
        return [_masked(one) for one in told]
    if isinstance(told, dict):
        return {key: _masked(inner) for key, inner in told.items()}
    return MASK


def _plain(told: Any) -> Any:
    """What speaks of columns, with no more than credentials in addresses taken out."""
    if isinstance(told, str):
        return _ADDRESS.sub(rf"\1{MASK}@", told)
    if isinstance(told, list):
        return [_plain(one) for one in told]
    if isinstance(told, dict):
        return {key: _plain(inner) for key, inner in told.items()}
    return told
