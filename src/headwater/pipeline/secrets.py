"""Secrets in configurations: `${env:NAME}` and `${file:PATH:KEY}`, read as late as possible."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from headwater.errors import SecretMissing

MASK = "******"
_REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")
_SENSITIVE = re.compile(
    r"password|secret|token|user\.info|jaas|access[.-]key|credential", re.IGNORECASE
)


def resolve(text: str, environ: Mapping[str, str]) -> str:
    """Put what they lead to in the place of references.

    Raises:
        SecretMissing: a variable, a file or a key in it is not there.

    """
    return _REFERENCE.sub(lambda found: _look_up(found, environ), text)


def masked(values: Mapping[str, str]) -> dict[str, str]:
    """A configuration to show: references stay references, literal secrets are hidden."""
    return {
        key: MASK if _SENSITIVE.search(key) and value and not _REFERENCE.search(value) else value
        for key, value in values.items()
    }


def unmasked(values: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """A configuration that came back from someone it was shown to, with its secrets again."""
    return {
        key: stored.get(key, value) if value == MASK else value for key, value in values.items()
    }


def scrubbed(text: str, values: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """A text, such as a stack trace, without any secret of a configuration."""
    for secret in set(_secrets(values, environ)):
        text = text.replace(secret, MASK)
    return text


def _secrets(values: Mapping[str, str], environ: Mapping[str, str]) -> Iterator[str]:
    for key, value in values.items():
        if not _SENSITIVE.search(key):
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
