"""Masks the second of two texts in brackets of which the first is the name of a secret."""

import re
from collections.abc import Callable

from headwater.openlineage.masking.addresses import Noted
from headwater.openlineage.masking.counts import is_measure
from headwater.openlineage.masking.cuts import Cuts
from headwater.openlineage.masking.expressions import NOTHING
from headwater.openlineage.masking.types import is_type
from headwater.openlineage.masking.values import Value, find_quoted

_PAIR = re.compile(
    r"\(\s*+\\{0,7}([\"'])(-{0,2}[A-Za-z_$][\w.$ -]*+)\\{0,7}\1\s*+,\s*+"
    r"((?:value|default)\s{0,3}=\s{0,3})?"
    r"((?:[A-Za-z]{1,10}\.)?lit\(\s{0,5})?"
)
_BEFORE_PAIR = re.compile(r"([\w.]{1,60})\s{0,2}\Z|([\[(,])\s{0,20}\Z")
_CLOSED = re.compile(r"\\{0,7}[\"']\s*+\)")
_DIGITS = re.compile(r"\d{1,20}(?=\s*+\))")
# Functions that set an option: what other functions put under a name may be a count.
_OPTIONS = re.compile(
    r"(?:^|\.)(?:option|config|property|setproperty|setconf|conf\.set|setstring|setenv|header)\s{0,2}\Z"
)
_SETTERS = frozenset({
    "set", "put", "option", "config", "conf", "setproperty", "setconf", "property", "header",
    "addheader", "setheader", "setifmissing", "setifunset", "setdefault", "sethadoopconf", "hset",
    "setstring", "setenv", "putenv", "putifabsent", "add", "withproperty", "withoption",
})  # fmt: skip
_COLUMN_FUNCTIONS = frozenset({
    "select", "selectexpr", "drop", "groupby", "orderby", "sort", "sortby", "partitionby",
    "dropduplicates", "drop_duplicates", "withcolumnrenamed", "with_column_renamed", "coalesce",
    "concat", "concat_ws", "struct", "array", "todf", "cube", "rollup", "repartition", "join",
    "bucketby", "distinct", "agg", "col", "cols", "in", "isin", "renamed", "nvl", "ifnull",
    "greatest", "least", "create_map", "sum", "max", "min", "count", "first", "last",
})  # fmt: skip


def mask_pairs(text: str, sensitive: Callable[[str], bool], noted: Noted) -> str:
    """`option("password", "x")`, and the same as a tuple in a list."""
    cuts = Cuts(text, noted)
    for found in _PAIR.finditer(text):
        if found.start() >= cuts.done and sensitive(found[2].lstrip("-")):
            value = find_quoted(text, found.end())
            if value is None:
                cuts.mask(_find_digits(text, found))
            elif _is_pair(text, found, value):
                cuts.mask(value)
    return cuts.result()


def _find_digits(text: str, found: re.Match[str]) -> Value | None:
    """The number that an option is set to: `option("password", 1234)`."""
    digits = _DIGITS.match(text, found.end())
    before = text[max(0, found.start() - 80) : found.start()].lower()
    if digits is None or is_measure(found[2]) or not _OPTIONS.search(before):
        return None
    return Value(digits.start(), digits.end(), False)


def _is_pair(text: str, found: re.Match[str], value: Value) -> bool:
    if found[2].startswith("-") and not found[3]:
        return False  # `add_argument("--password", "-p")`
    return found[4] is not None or _sets(text, found.start(), value)


def _sets(text: str, at: int, value: Value) -> bool:
    """Whether two texts in brackets are a name and its value, by what stands before them."""
    before = _BEFORE_PAIR.search(text[max(0, at - 80) : at])
    function = before[1].lower() if before and before[1] else None
    if function is None:
        is_pair = before is not None and _CLOSED.match(text, value.end) is not None
        return is_pair and not is_type(text[value.start : value.end])
    last = function.rpartition(".")[2]
    if last == "add" and text[value.start : value.end].lower() in NOTHING:
        return False  # a field of a schema, and its type
    if last in _SETTERS:
        return True
    if last in _COLUMN_FUNCTIONS or function.endswith("secrets.get"):
        return False
    return _CLOSED.match(text, value.end) is not None
