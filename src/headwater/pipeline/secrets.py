"""Secrets in configurations: `${env:NAME}` and `${file:PATH:KEY}`, read as late as possible."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from headwater.errors import SecretMissing
from headwater.openlineage.masking import MASK, REFERENCE, is_sensitive


def resolve(text: str, environ: Mapping[str, str]) -> str:
    """Put what they lead to in the place of references.

    Raises:
        SecretMissing: a variable, a file or a key in it is not there.

    """
    return REFERENCE.sub(lambda found: _look_up(found, environ), text)


def scrubbed(text: str, values: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """A text, such as a stack trace, without any secret of a configuration."""
    for secret in set(_secrets(values, environ)):
        text = text.replace(secret, MASK)
    return text


def _secrets(values: Mapping[str, str], environ: Mapping[str, str]) -> Iterator[str]:
    for key, value in values.items():
        if not is_sensitive(key):
            continue
        try:
            known = resolve(value, environ)
        except SecretMissing:
            continue
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
