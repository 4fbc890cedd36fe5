"""JSON in texts, of which every part must be seen."""

import json
from typing import Any


def read_document(text: str) -> Any:
    """A text as an object or an array of JSON; None if it is none, or has a key twice."""
    try:
        found = json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, unless one of its keys stands in it twice: the first would not be seen."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a key twice")
    return found


def has_duplicates(raw: bytes) -> bool:
    """Whether an object has a key twice of a document that can be read."""
    try:
        json.loads(raw, object_pairs_hook=_distinct)
    except ValueError:
        return True
    return False
