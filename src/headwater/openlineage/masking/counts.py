"""Tells counts, limits, times and ids from secrets that are made of digits only."""

import re

from headwater.openlineage.masking.keys import split_camel

# A name with one of these words says how many, how long or how often.
_MEASURES = frozenset({
    "max", "n", "num", "total", "avg", "count", "counter", "limit", "length", "len", "size",
    "age", "day", "days", "hour", "hours", "min", "mins", "minutes", "sec", "secs", "seconds", "ms",
    "millis", "ttl", "timeout", "lifetime", "duration", "interval", "period", "rotation", "expiry",
    "expires", "expiration", "history", "retries", "tries", "attempts", "rounds", "iterations",
    "cost", "bits", "bytes", "chars", "digits", "threshold",
})  # fmt: skip
_NUMBER = re.compile(r"\d{1,13}(?:\.\d{1,6})?(?![\w.-])")
_SMALL = re.compile(r"\d{1,6}(?:\.\d{1,6})?(?![\w.-])")
_VERY_SMALL = re.compile(r"\d{1,2}(?![\w.-])")
# Tables have keys of accounts and clients, which are numbers.
_ID = re.compile(
    r"(?:_id|(?:account|client|subscription|license|storage|deploy|webhook)[_.-]?key)$"
)
# `pass` is also what a test does, beside those that fail.
_RESULTS = re.compile(
    r"(?i:(?:fail(?:ed|ures?)?|errors?|skip(?:ped)?|warn(?:ed|ings?)?|total)[\"']?\s?[=:]\s?\d)"
)
_BESIDE = 40


def is_measure(name: str) -> bool:
    """Whether a number under the name of a secret is a count, a limit or a time."""
    return "tokens" in name.lower() or not _MEASURES.isdisjoint(split_camel(name).split("_"))


def is_count(text: str, name: str, name_at: int, at: int) -> bool:
    """Whether a number begins at a place, behind a name, that is no secret."""
    if not text[at : at + 1].isdigit():
        return False
    lowered = name.lower()
    if "tokens" in lowered or _ID.search(lowered):
        return _SMALL.match(text, at) is not None
    if is_measure(name):
        return _NUMBER.match(text, at) is not None
    return lowered.endswith("pass") and _is_result(text, lowered, name_at, at)


def _is_result(text: str, name: str, name_at: int, at: int) -> bool:
    if name == "pass" and _VERY_SMALL.match(text, at):
        return True
    around = text[max(0, name_at - _BESIDE) : at + _BESIDE]
    return _SMALL.match(text, at) is not None and _RESULTS.search(around) is not None
