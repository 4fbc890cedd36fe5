"""Configurations of connectors: shown without their secrets, and taken back with them."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from headwater.openlineage.masking.addresses import MASK
from headwater.openlineage.masking.masker import Masker

T = TypeVar("T")
REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")
_masker = Masker()


def masked(values: Mapping[str, T]) -> dict[str, T]:
    """A configuration to show: references stay references, literal secrets are hidden."""
    found: dict[str, T] = _masker.value(dict(values))
    return found


def unmasked(values: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration that came back from someone it was shown to, with its secrets again."""
    shown = masked(stored)
    return {
        key: stored[key] if key in stored and value in (MASK, shown[key]) else value
        for key, value in values.items()
    }


def mask_text(text: str) -> str:
    """A text such as a log line, an error or a trace, without secrets."""
    return _masker.text(text)
