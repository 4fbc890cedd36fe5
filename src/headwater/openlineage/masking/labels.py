"""Masks values that stand beside the name of a secret: `option(key="password", value="x")`,
elements and attributes of XML, environments of containers, calls that store a secret.
"""

import re
from collections.abc import Callable

from headwater.openlineage.masking.addresses import Noted
from headwater.openlineage.masking.cuts import Cuts
from headwater.openlineage.masking.expressions import is_code, is_prose
from headwater.openlineage.masking.values import Value, find_quoted, find_value

_LABEL = re.compile(
    r"(?<![\w.$-])(?:name|key|property|option|header|parameter|param|variable|setting)"
    r"\\{0,7}[\"']?\s{0,5}[=:]\s{0,5}\\{0,7}[\"']?([A-Za-z_$][\w.$-]*+)\\{0,7}[\"']?(?=[\s,;>/)}\]])"
)
_BESIDE = (
    r"(?<![\w.$-])(?:value|val|default|default_value|defaultValue)\\{0,7}[\"']?\s{0,5}[=:]\s{0,5}"
)
_NO_LABEL = r"(?:(?!\b(?:name|key)\b)[^()<>{}]){0,200}?"
_FORWARD = re.compile(_NO_LABEL + _BESIDE)
_BACKWARD = re.compile(_BESIDE)
_BEFORE = 300  # letters before a label in which its value may stand
_BRACKET = re.compile(r"[(){}<>](?=[^(){}<>]*+\Z)")
_CONTENT = re.compile(r"[^<>]{0,200}(?<!/)>\s{0,80}(?:<value>)?(?:<!\[CDATA\[)?(?=[^<>\s])")
_ELEMENT = re.compile(
    r"<([A-Za-z_][\w.:-]*+)(?:\s[^<>]{0,200})?>\s{0,20}(?:<!\[CDATA\[)?(?=[^<>\s])"
)
_TEXT = re.compile(r"[^<>\]]++")
_NAMED = re.compile(r"<(?:param-)?name>\s{0,80}([^<>\s]{1,300})\s{0,80}</(?:param-)?name>")
_VALUED = re.compile(r"<(?:param-)?value>(?:<!\[CDATA\[)?(?=[^<>])")
_STORED = re.compile(
    r"(?i:\bsecrets?\.(?:put|set|create|update|add|store|write)"
    r"(?:_?secret)?(?:_?value|_?string|_?bytes)?\s{0,3}\()"
)
_ARGUMENT = re.compile(r"([A-Za-z_]\w{0,63})\s{0,3}=\s{0,3}\Z")
_QUOTE_OR_END = re.compile(r"[\"')]")

Sensitive = Callable[[str], bool]


def mask_labelled(text: str, sensitive: Sensitive, noted: Noted) -> str:
    """A text without the values that stand beside sensitive names."""
    if "</" in text:
        text = _mask_elements(text, sensitive, noted)
    if "secret" in text.lower():
        text = _mask_stored(text, noted)
    cuts = Cuts(text, noted)
    for found in _LABEL.finditer(text):
        if found.start() >= cuts.done and sensitive(found[1]):
            cuts.mask(_behind(text, found.end()) or _ahead(text, found.start(), cuts.done))
    return cuts.result()


def _behind(text: str, at: int) -> Value | None:
    """The value that follows its label."""
    beside = _FORWARD.match(text, at)
    if beside is not None:
        return _said(text, beside.end())
    content = _CONTENT.match(text, at)
    return _content(text, content.end()) if content is not None else None


def _ahead(text: str, at: int, done: int) -> Value | None:
    """The value that stands before its label, in the same brackets."""
    begin = max(0, at - _BEFORE, done)
    bracket = _BRACKET.search(text[begin:at])
    if bracket is None:
        return None
    beside = _BACKWARD.search(text, begin + bracket.end(), at)
    return _said(text, beside.end()) if beside is not None else None


def _said(text: str, at: int) -> Value | None:
    found = find_quoted(text, at)
    if found is not None or is_code(text, at, at) or is_prose(text, at):
        return found
    return find_value(text, at)


def _content(text: str, at: int) -> Value | None:
    found = _TEXT.match(text, at)
    return Value(at, found.end(), False) if found is not None else None


def _mask_elements(text: str, sensitive: Sensitive, noted: Noted) -> str:
    """`<password>x</password>`, and Hadoop's `<name>` and `<value>` in either order."""
    cuts = Cuts(text, noted)
    for found in _ELEMENT.finditer(text):
        if sensitive(found[1]):
            cuts.mask(_content(text, found.end()))
    text, cuts = cuts.result(), Cuts(cuts.result(), noted)
    for found in _NAMED.finditer(text):
        if sensitive(found[1]):
            value = _beside_element(text, found, cuts.done)
            cuts.mask(_content(text, value.end()) if value is not None else None)
    return cuts.result()


def _beside_element(text: str, name: re.Match[str], done: int) -> re.Match[str] | None:
    """Where the `<value>` of the same property begins."""
    end = text.find("</property", name.end(), name.end() + 4 * _BEFORE)
    after = _VALUED.search(text, name.end(), end if end >= 0 else name.end() + _BEFORE)
    if after is not None:
        return after
    begin = max(0, name.start() - _BEFORE, done)
    opened = text.rfind("<property", begin, name.start())
    return _VALUED.search(text, opened, name.start()) if opened >= 0 else None


def _mask_stored(text: str, noted: Noted) -> str:
    """The secret in `secrets.put(scope, key, "x")`: the last text, unless one is called value."""
    cuts = Cuts(text, noted)
    for found in _STORED.finditer(text):
        if found.start() < cuts.done:
            continue
        cuts.mask(_stored(text, found.end()))
    return cuts.result()


def _stored(text: str, begin: int) -> Value | None:
    """The argument of a call that is the secret."""
    chosen: Value | None = None
    sign = _QUOTE_OR_END.search(text, begin, begin + 2 * _BEFORE)
    while sign is not None and sign[0] != ")":
        at = sign.start()
        named = _ARGUMENT.search(text[max(begin, at - 70) : at])
        chosen = find_quoted(text, at)
        if chosen is None or (named is not None and "value" in named[1].lower()):
            break
        sign = _QUOTE_OR_END.search(text, chosen.end + 1, begin + 2 * _BEFORE)
    return chosen
