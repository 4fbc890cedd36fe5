"""Secrets in configurations: `${env:NAME}` and `${file:PATH:KEY}`, read as late as possible."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from headwater.errors import SecretMissing
from headwater.openlineage.masking import MASK, REFERENCE, is_sensitive, mask_text

_SHORT = 4


def resolve(text: str, environ: Mapping[str, str]) -> str:
    """Put what they lead to in the place of references.

    Raises:
        SecretMissing: a variable, a file or a key in it is not there.

    """
    return REFERENCE.sub(lambda found: _look_up(found, environ), text)


def scrubbed(text: str, values: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """A text, such as a stack trace, without any secret of a configuration or of the text's own."""
    for secret in sorted({*_secrets(values, environ)}, key=len, reverse=True):
        for written in {secret, quote(secret, safe="")}:
            text = _replaced(text, written)
    return mask_text(text)


def _replaced(text: str, secret: str) -> str:
    # A secret of two letters stands in many words.
    if len(secret) >= _SHORT:
        return text.replace(secret, MASK)
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, text)


def _secrets(values: Mapping[str, str], environ: Mapping[str, str]) -> Iterator[str]:
    """What sensitive keys hold, and what references with sensitive names lead to."""
    for key, value in values.items():
        if is_sensitive(key):
            yield from _resolved(value, environ)
        for found in REFERENCE.finditer(value):
            if is_sensitive(found[2]):
                yield from _resolved(found[0], environ)


def _resolved(value: str, environ: Mapping[str, str]) -> Iterator[str]:
    with contextlib.suppress(SecretMissing):
        known = resolve(value, environ)
        if known:
            yield known


def _look_up(found: re.Match[str], environ: Mapping[str, str]) -> str:
    kind, rest = found.group(1), found.group(2)
    value = environ.get(rest) if kind == "env" else _from_file(rest)
    if value is None:
        raise SecretMissing(found.group(0))
    return value


def _from_file(reference: str) -> str | None:
    path, _, key = reference.rpartition(":")
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    pairs = (line.partition("=") for line in lines if not line.lstrip().startswith("#"))
    return next((value.strip() for name, _, value in pairs if name.strip() == key), None)
