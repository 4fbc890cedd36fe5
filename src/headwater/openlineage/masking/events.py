"""Masks events, and writes into each what was masked in it."""

from typing import Any

from headwater.openlineage.masking.masker import Masker
from headwater.openlineage.masking.report import MOST_PATHS, Report
from headwater.version import PRODUCER

FACET = "headwater_masked"
_SCHEMA = "urn:headwater:facets:1-0-0:MaskedFacet"


def mask_event(masker: Masker, event: Any) -> tuple[Any, Report]:
    """An event without secrets; a facet of its run, job or dataset says what was masked."""
    report = Report()
    clean = masker.value(event, report)
    if report and isinstance(clean, dict):
        _note(clean, report, masker)
    return clean, report


def _note(event: dict[str, Any], report: Report, masker: Masker) -> None:
    for part in ("run", "job", "dataset"):
        subject = event.get(part)
        if isinstance(subject, dict):
            break
    else:
        return
    facets = subject.get("facets")
    if facets is None:
        facets = subject["facets"] = {}
    if isinstance(facets, dict):
        facets[FACET] = _facet(facets.get(FACET), report, masker)


def _facet(before: Any, report: Report, masker: Masker) -> dict[str, Any]:
    """The facet; what an earlier masking of the same event wrote into it stays."""
    known = before if isinstance(before, dict) else {}
    paths = [one for one in _list(known.get("paths")) if isinstance(one, str)]
    # A key that is clean by itself may not be so behind the keys above it.
    paths += [masker.text(path) for path in report.paths]
    rules = dict(report.rules)
    for rule, count in (known.get("rules") or {}).items() if _counts(known) else ():
        rules[rule] = rules.get(rule, 0) + count
    return {
        "_producer": PRODUCER,
        "_schemaURL": _SCHEMA,
        "rules": dict(sorted(rules.items())),
        "paths": [*dict.fromkeys(paths)][:MOST_PATHS],
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _counts(known: dict[str, Any]) -> bool:
    rules = known.get("rules")
    return isinstance(rules, dict) and all(isinstance(count, int) for count in rules.values())
