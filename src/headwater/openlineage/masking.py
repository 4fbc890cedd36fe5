"""Secrets of configurations, hidden from those whom a configuration is shown to."""

import re
from collections.abc import Mapping

MASK = "******"
REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")
_SENSITIVE = re.compile(
    r"password|secret|token|user\.info|jaas|access[.-]key|credential", re.IGNORECASE
)


def is_sensitive(key: str) -> bool:
    """Whether a key's value is a secret, by its name."""
    return _SENSITIVE.search(key) is not None


def masked(values: Mapping[str, str]) -> dict[str, str]:
    """A configuration to show: references stay references, literal secrets are hidden."""
    return {
        key: MASK if is_sensitive(key) and value and not REFERENCE.search(value) else value
        for key, value in values.items()
    }


def unmasked(values: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """A configuration that came back from someone it was shown to, with its secrets again."""
    return {
        key: stored.get(key, value) if value == MASK else value for key, value in values.items()
    }
