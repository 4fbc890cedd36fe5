"""`tags`: the tags that events give to jobs, runs, datasets and their columns."""

from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from headwater.openlineage.facets import is_absent

TAGS = "tags"
_MOST = 1000  # tags of one facet
_LONGEST = 255  # characters of a tag, and of the column that has it


class FieldTag(NamedTuple):
    """A tag, and the column that has it; empty for the whole dataset, a job or a run."""

    field: str
    tag: str


class _Tag(Struct):
    key: str
    value: Any = None
    field: str | None = None


class _Facet(Struct):
    tags: list[_Tag]


_decode = msgspec.json.Decoder(_Facet).decode


def read_tags(raw: Raw | bytes | None) -> set[FieldTag]:
    """The tags of a facet: `key:value`, or `key` where its value is true, empty or the same."""
    if raw is None or is_absent(raw):
        return set()
    try:
        told = _decode(raw).tags[:_MOST]
    except (msgspec.DecodeError, RecursionError):
        return set()
    found = {FieldTag(tag.field or "", _text(tag)) for tag in told if tag.key}
    return {one for one in found if max(map(len, one)) <= _LONGEST and "\0" not in "".join(one)}


def _text(tag: _Tag) -> str:
    value = "" if tag.value is None else str(tag.value)
    if value.lower() in ("", "true") or value == tag.key:
        return tag.key
    return f"{tag.key}:{value}"
