"""Masks what a text assigns to the name of a secret: SQL, code, configurations, logs, prose.

A name is found first, and what follows it is looked at only where the name is that of a secret.
Every pattern begins at the start of a word and takes it whole, so that time grows with the length
of the text and no faster.
"""

import re
from collections.abc import Callable

from headwater.openlineage.masking.addresses import Noted
from headwater.openlineage.masking.commands import mask_commands
from headwater.openlineage.masking.connections import find_braced
from headwater.openlineage.masking.counts import is_count, is_measure
from headwater.openlineage.masking.cuts import Cuts
from headwater.openlineage.masking.declarations import (
    is_arrow_body,
    is_declaration,
    is_header,
    is_parameter,
    is_printed,
    is_quoted_type,
)
from headwater.openlineage.masking.expressions import (
    after_fallback,
    is_code,
    is_path,
    is_prose,
    is_same_variable,
)
from headwater.openlineage.masking.pairs import mask_pairs
from headwater.openlineage.masking.places import NAMED, Place, find_place
from headwater.openlineage.masking.prose import is_secret_word, mask_told
from headwater.openlineage.masking.quotes import Quotes, find_joined, is_concatenation
from headwater.openlineage.masking.statements import is_comment, mask_statements
from headwater.openlineage.masking.values import (
    Value,
    after_tags,
    find_items,
    find_quoted,
    find_scalar,
    find_value,
    is_empty,
    is_identifier,
)

Sensitive = Callable[[str], bool]

_COMMENT = re.compile(r"/\*|--")
_SIGN = re.compile(r"[=:\"'<(%$]")
_QUOTES = frozenset("\"'`")
_DOCUMENTED = '"""'
_SHORTEST_ITEM, _SHORTEST_NUMBER = 6, 4
_WINDOW, _LONGEST_NAMED = 16_384, 1024  # letters of a search, and of a name with what is behind
_FIRST_ITEMS = 20  # of a list, by which it is told whether they are secrets
# The value of a percent-encoded assignment, by how often it was encoded: up to the next one.
_ENCODED = tuple(
    re.compile(rf"(?:[^\s&'\"<>%]|%(?!{'25' * depth}(?:26|3[bB]|23|0[aAdD]|2[02]))){{1,8192}}")
    for depth in range(4)
)
_PARSED = re.compile(
    r"(?i:\b(?:unexpected|illegal|near|unknown|extraneous|mismatched|at)\s{1,3})\Z"
)
_NESTED = re.compile(r"[\w.-]{1,100}:(?:\s|\Z)")
_URN = re.compile(r"\b[ua]rn:[\w:./-]*\Z")
_SCHEME = re.compile(r"(?i:(?:bearer|basic|digest|negotiate|token|apikey|aws4-\S{1,20})\s{1,5})")
# `get_password("db")` names a secret, `set_password("x")` has one.
_READER = re.compile(
    r"(?:^|[._])(?:get|read|fetch|load|ask|prompt|lookup|find|resolve|input)_?\w{0,40}$"
)
_SETTER = re.compile(
    r"password$|(?:^|[._])(?:set|with)_?\w{1,40}$|[._](?:api|access|secret|private)_?key$"
    r"|\.equals(?:ignorecase)?$"
)
# A name inside of a call whose result is compared: `lower(token) = 'x'`.
_WRAPPED = re.compile(
    r"(?i:\b(?:col|column|lower|upper|[lr]?trim|md5|sha\d{0,3}|to_char|str|string)\s?\(|\$)"
    r"\s?(?:\w{1,40}\.)?[\"']?\Z"
)
_REFERENCE = re.compile(r"!(?:Ref|Sub|GetAtt|ImportValue|FindInMap|Select|secret|env|env_var)\s")


def mask_assignments(text: str, sensitive: Sensitive, noted: Noted) -> str:
    """A text without the values that it gives to sensitive names."""
    lowered = text.lower()
    if _SIGN.search(text):
        cuts = Cuts(text, noted)
        _mask_names(cuts, Quotes(text), sensitive, 0, len(text))
        text = cuts.result()
    if "(" in text and "," in text:
        text = mask_pairs(text, sensitive, noted)
    text = mask_statements(text, lowered, sensitive, noted)
    text = mask_commands(text, lowered, sensitive, noted)
    return mask_told(text, lowered, noted)


def _mask_names(cuts: Cuts, quotes: Quotes, sensitive: Sensitive, at: int, end: int) -> None:
    """Mask what is assigned to the sensitive names of a part of a text.

    The search goes on at the end of a name, not of what follows it: comments and calls have names
    of their own.
    """
    text = cuts.text
    found = _next_name(text, at, end)
    while found is not None:
        at = found.end(1)
        if sensitive(found[1].lstrip("-")):
            place = find_place(text, found)
            if place.at > at + 4 and _COMMENT.search(text, at, place.at):
                _mask_names(cuts, quotes, sensitive, at, place.at)
                at = place.at  # twice at every depth were exponential
            if cuts.mask(_find_secret(text, place, quotes), is_list=place.made.endswith("(")):
                at = max(cuts.done, at)
            elif place.is_typed:
                at = place.at
        found = _next_name(text, at, end)


def _next_name(text: str, at: int, end: int) -> re.Match[str] | None:
    """The next name; it is searched for in windows, as other threads wait for each search."""
    while at < end:
        stop = min(end, at + _WINDOW)
        found = NAMED.search(text, at, stop)
        if stop == end or (found is not None and found.start() < stop - _LONGEST_NAMED):
            return found
        # What begins near the end of a window may go on behind it.
        at = stop - _LONGEST_NAMED if found is None else found.start()
    return None


def _find_secret(text: str, place: Place, quotes: Quotes) -> Value | None:
    """What is to be masked behind a sensitive name, if anything."""
    name, at = place.name.lower(), place.at
    if place.made == "(" and (_READER.search(name) or not _SETTER.search(name)):
        return None
    if place.made.lower() == "is" and is_comment(text, place.name_at):
        return None
    if place.is_tested and not _WRAPPED.search(text[max(0, place.name_at - 40) : place.name_at]):
        return None
    if place.sign is None and (name == "pass" or text.startswith(_DOCUMENTED, at)):
        return None  # a verb: pass 'sort=False'; or the last word of a documentation
    if name == "token" and _PARSED.search(text[max(0, place.name_at - 20) : place.name_at]):
        return None
    if text[at : at + 1] in _QUOTES and quotes.closes(at):
        return find_joined(text, at)
    if not name.endswith("authorization"):
        return _find_value(text, place)
    scheme = _SCHEME.match(text, at)
    value = find_value(text, scheme.end()) if scheme is not None else _find_value(text, place)
    return _with_scheme(text, value) if value is not None else None


def _find_value(text: str, place: Place) -> Value | None:
    """The value of a name, unless it is code."""
    sign, at = place.sign, place.at
    if sign == ":" and not place.is_typed:
        scalar = find_scalar(text, at)
        if scalar is not None or _REFERENCE.match(text, at):
            return scalar
        at = after_tags(text, at)
    if sign in (":", "=", ":="):
        at = after_fallback(text, at)
    value = find_quoted(text, at)
    if value is not None:
        is_kept = is_identifier(text, value) or _is_kept(text, place._replace(at=at), value)
        return None if is_kept else value
    if sign is None or place.is_typed or sign in ("==", "===", "!=", "<>"):
        return None
    if sign == "=" and text.startswith("{", at):
        braced = find_braced(text, place.name_at, at)
        if braced is not None:
            return braced
    if _is_no_secret(text, place._replace(at=at)):
        return None
    if sign.startswith("%"):
        encoded = _ENCODED[sign.count("25")].match(text, at)
        return Value(at, encoded.end(), False) if encoded is not None else None
    items = find_items(text, at, _FIRST_ITEMS) if sign in (":", "=") else None
    if items is not None:
        words = text[items.start : items.end].split()
        are_counts = is_measure(place.name)
        has_secrets = any(_is_item(word, are_counts=are_counts) for word in words)
        return find_items(text, at) if has_secrets else None
    value = find_value(text, at)
    return None if value is not None and sign == ":" and is_path(text, value) else value


def _is_kept(text: str, place: Place, value: Value) -> bool:
    """Whether a text in quotes is no secret: a field of JSON, a column, a type, a command."""
    inner, sign, at = text[value.start : value.end], place.sign, place.at
    if is_empty(inner) or is_concatenation(inner):
        return True
    if sign == "->" and not place.is_quoted and text.startswith("'", at):
        return True
    if sign == ":" and not place.is_typed and is_quoted_type(text, place.name_at, inner):
        return True
    if sign in ("==", "===", "!=", "<>") and text.startswith('$"', at):
        return True
    is_command = text.startswith("`", at) and " " in inner and place.name.isupper()
    return is_command and place.sign_end == at


def _is_no_secret(text: str, place: Place) -> bool:
    """Whether what follows a name without quotes is no secret: code, a count, prose."""
    name, name_at, at, sign = place.name.lower(), place.name_at, place.at, place.sign
    if is_code(text, name_at, at) or is_same_variable(text, name, name_at, at):
        return True
    if is_count(text, place.name, name_at, at):
        return True
    if place.name == "PWD" and text.startswith("/", at):
        return True
    if sign in ("->", "=>") and not place.is_quoted:
        return not is_printed(text, name_at) and is_arrow_body(text, at)
    if sign == ":" and _is_no_pair(text, place):
        return True
    return sign != "=" and "phrase" not in name and is_prose(text, at)


def _is_no_pair(text: str, place: Place) -> bool:
    """Whether a name and its colon are no name and value: a type, a header, a list of names."""
    name_at, at = place.name_at, place.at
    if _NESTED.match(text, at) and "\n" in text[place.sign_end : at]:
        return True
    if _URN.search(text[max(0, name_at - 100) : name_at]):
        return True
    return (
        is_parameter(text, name_at)
        or is_header(text, name_at, at)
        or (not place.is_quoted and is_declaration(text, place.name, name_at, at))
    )


def _with_scheme(text: str, value: Value) -> Value:
    """The value of an `Authorization` header, which is two words; the scheme is kept."""
    scheme = _SCHEME.match(text, value.start)
    if scheme is None:
        return value
    if value.is_quoted:
        return Value(scheme.end(), max(value.end, scheme.end()), True)
    rest = find_value(text, scheme.end())
    return Value(scheme.end(), rest.end, False) if rest is not None else value


def _is_item(word: str, *, are_counts: bool) -> bool:
    """Whether an item of a list is a secret, not the name of one."""
    word = word.strip("[],-")
    if word.isdigit():
        return len(word) >= _SHORTEST_NUMBER and not are_counts
    return len(word) > 1 and (word[0] in _QUOTES or is_secret_word(word, _SHORTEST_ITEM))
