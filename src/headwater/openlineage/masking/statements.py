"""Masks secrets that statements of SQL hold at places of their own: `IDENTIFIED BY x`."""

import re
from collections.abc import Callable

from headwater.openlineage.masking.addresses import Noted
from headwater.openlineage.masking.cuts import Cuts
from headwater.openlineage.masking.values import find_value

# Space in SQL, where comments may stand in it.
COMMENT = r"/\*(?:[^*]|\*(?!/)){0,300}\*/|--[^\n]{0,200}\n"
GAP = rf"\s*+(?:(?:{COMMENT})\s{{0,80}}){{0,3}}"
_SPACE = rf"(?:\s|{COMMENT}){{1,9}}"
_BY = rf"identified{_SPACE}by{_SPACE}"
_IDENTIFIED = re.compile(
    rf"(?i:\b(?:identified{_SPACE}(?:with{_SPACE}[\"'`]?\w{{1,64}}[\"'`]?{_SPACE})?(?:by|as){_SPACE}"
    rf"(?:(?:password|values|hash){_SPACE})?(?=[\"'])"
    rf"|(?:create|alter){_SPACE}(?:user|role){_SPACE}\S{{1,130}}{_SPACE}{_BY}"
    r"(?!(?:values|password)\s)(?=\S)"
    rf"|link{_SPACE}\S{{1,130}}{_SPACE}connect{_SPACE}to{_SPACE}\S{{1,130}}{_SPACE}{_BY}(?=\S)"
    rf"|grant{_SPACE}\w{{1,64}}{_SPACE}to{_SPACE}\S{{1,130}}{_SPACE}{_BY}(?=\S)"
    rf"|set{_SPACE}password{_SPACE}for{_SPACE}\S{{1,130}}\s{{0,5}}=\s{{0,5}}"
    r"(?:(?:old_)?password\s{0,3}\(\s{0,5})?(?=[\"'])))"
)
_REPLACED = re.compile(rf"[\"']?{_SPACE}(?i:replace){_SPACE}(?=\S)")
_KEYED = re.compile(
    r"(?i:\b((?:aes|pgp_sym|pgp_pub)_(?:en|de)crypt\s{0,3}\([^(),'\"]{1,200},\s{0,5}"
    r"|(?:en|de)cryptbypassphrase\s{0,3}\(\s{0,5}))(?=[\"'])"
)
_HAS_DEFAULT = re.compile(r"default\s{1,5}n?['\"]")
# A column or a variable of SQL with a type, and its first value.
_DEFAULT = re.compile(
    r"(?i:(?<![\w.$-])([A-Za-z_$][\w.$-]*+)[`\"\]]?\s{1,5}"
    r"(?:n?(?:var)?char2?|(?:character\s)?varying|string|(?:long|medium|tiny)?text|n?clob|sysname)"
    r"\s{0,3}(?:\(\s?(?:\d{1,5}|max)\s?(?:char|byte)?\s?\))?"
    r"\s{0,5}(?:not\snull\s)?(?:default\s{1,5}|:?=\s{0,5})(?=n?['\"]))"
)
# What stands before the name of a column, whose description follows behind `IS`.
_COMMENTED = re.compile(
    rf"(?i:\b(?:comment(?:{_SPACE}if{_SPACE}exists)?"
    rf"|security{_SPACE}label(?:{_SPACE}for{_SPACE}\S{{1,64}})?){_SPACE}on{_SPACE}"
    rf"(?:(?:materialized|foreign|external){_SPACE})?\w{{1,30}}{_SPACE})[\w$.`\"\[\]]{{0,200}}\Z"
)


def mask_statements(text: str, lowered: str, sensitive: Callable[[str], bool], noted: Noted) -> str:
    """A text without the secrets of its statements."""
    if "declare" in lowered or _HAS_DEFAULT.search(lowered):
        cuts = Cuts(text, noted)
        for found in _DEFAULT.finditer(text):
            if sensitive(found[1]):
                cuts.mask(find_value(text, found.end()))
        text = cuts.result()
    for hint, pattern in (
        ("identified", _IDENTIFIED),
        ("set password", _IDENTIFIED),
        ("crypt", _KEYED),
    ):
        if hint in lowered:
            text = _mask_after(text, pattern, noted)
    return text


def is_comment(text: str, name_at: int) -> bool:
    """Whether a name is that of a column or table on which SQL comments: `COMMENT ON … IS 'x'`."""
    return _COMMENTED.search(text[max(0, name_at - 300) : name_at]) is not None


def _mask_after(text: str, pattern: re.Pattern[str], noted: Noted) -> str:
    """A text whose values after a pattern are masked, whatever they are."""
    cuts = Cuts(text, noted)
    for found in pattern.finditer(text):
        if found.start() < cuts.done or not cuts.mask(find_value(text, found.end())):
            continue
        replaced = _REPLACED.match(text, cuts.done) if pattern is _IDENTIFIED else None
        if replaced is not None:
            cuts.mask(find_value(text, replaced.end()))
    return cuts.result()
