"""`dataQualityAssertions`: the checks of a dataset that an event reports."""

from collections import Counter
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from headwater.openlineage.facets import is_absent

ASSERTIONS = "dataQualityAssertions"
_MOST = 1000  # checks of one facet


class Check(NamedTuple):
    """The result of one check; `number` tells those with one name and column apart."""

    assertion: str
    column: str
    number: int
    success: bool
    body: Raw


class _Assertion(Struct):
    assertion: str
    success: bool
    column: str | None = None


class _Facet(Struct):
    assertions: list[Raw]


_facet, _assertion = msgspec.json.Decoder(_Facet), msgspec.json.Decoder(_Assertion)


def read_checks(raw: Raw | bytes | None) -> list[Check]:
    """The checks of a facet; none where one of them cannot be read."""
    if raw is None or is_absent(raw):
        return []
    seen = Counter[tuple[str, str]]()
    checks = []
    try:
        for body in _facet.decode(raw).assertions[:_MOST]:
            told = _assertion.decode(body)
            name = (told.assertion, told.column or "")
            checks.append(Check(*name, seen[name], told.success, body))
            seen[name] += 1
    except (msgspec.DecodeError, RecursionError):
        return []
    return checks


def with_checks(raw: Raw, bodies: list[Raw]) -> Raw:
    """A facet with other checks than its own."""
    told = msgspec.json.decode(raw)
    return Raw(msgspec.json.encode({**told, "assertions": bodies}))
