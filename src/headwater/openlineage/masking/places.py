"""Finds names in texts, and where behind each its value may begin."""

import re
from typing import NamedTuple

from headwater.openlineage.masking.declarations import find_default, is_header
from headwater.openlineage.masking.statements import GAP

# Scripts without spaces between words end a word before a name: 数据库password=x.
_LETTER = r"[0-9A-Za-z_.$\u00aa-\u052f-]"
_NAME = rf"(?:(?<!{_LETTER})|(?<=%[0-9A-Fa-f]{{2}}))(-{{0,2}}[A-Za-z_$]{_LETTER}*+)"
_LITERAL = r"(?:[nNeExXbB]|[qQ](?=')|[uU]&|_\w{2,12})?\\{0,7}[\"']|\$\w{0,63}\$"
_COMPARED = (
    r"(?i:(?:not\s{1,5})?(?:[ir]?like|in|similar\s{1,5}to|between)"
    r"|is(?:\s{1,5}distinct\s{1,5}from)?|was|to)"
)
# A cast of the name itself, before the sign: `token::text = 'x'`.
_CAST = r"\s?::\s?[A-Za-z_]\w{0,63}(?:\(\d{1,5}(?:,\s?\d{1,5})?\))?(?:\[\])?"
NAMED = re.compile(
    rf"""{_NAME}(?:
        (?:\\{{0,7}}["'`]|%(?:25){{0,3}}2[27])?\]?\s*+(?P<assigned>
            =>|->(?!>)|:=|={{1,3}}|!=|<>|:(?!:)|%(?:25){{0,3}}3[dDaA](?:%(?:25){{0,3}}2[27])?
        )
      | \\{{0,7}}["'`]?(?=\s|/\*){GAP}(?P<beside>(?={_LITERAL}))
      | \s++(?P<compared>{_COMPARED}\s*+\(?\s*+)(?=["'])
      | (?P<called>\(\s*+)(?=["'])
      | {_CAST}(?:\s*+(?P<cast>={{1,3}}|!=|<>)|\s++(?P<among>{_COMPARED}\s*+\(?\s*+)(?=["']))
      | (?=["'\\)])(?:\\{{0,7}}["'])?\)\s*+(?P<tested>={{1,3}}|!=|<>)\s*+(?=["'])
    )""",
    re.VERBOSE,
)
_GAP = re.compile(GAP)
# Functions to which passwords are given as they are.
_MADE = re.compile(
    r"(?i:(?:(?:concat(?:_ws)?|md5|sha\d{0,3}|crypt|hashbytes|(?:from_|to_|un)?base64|decode|encode|"
    r"(?:base64\.)?b64decode|(?:un)?hex|(?:old_)?password|upper|lower|trim|(?:f\.|functions\.)?lit|"
    r"some|option(?:al\.of)?|secretstr|str|bytes|(?:new\s{1,3})?(?:string|password)"
    r"|(?:coalesce|nullif|ifnull|nvl|cast)(?=\s{0,3}\(\s{0,5}'))\s{0,3}\(\s{0,5}){1,3}"
    r"(?=[a-z]{0,2}[\"']))"
)
_QUOTES = frozenset("\"'`")


class Place(NamedTuple):
    """Where a value may begin behind a sensitive name, and what assigns it."""

    name: str
    name_at: int
    sign: str | None
    sign_end: int
    at: int
    made: str  # the call or the comparison in which the value stands
    is_quoted: bool  # the name
    is_tested: bool  # the result of a call with it
    is_typed: bool = False


def find_place(text: str, found: re.Match[str]) -> Place:
    """Where the value of a name begins: behind its sign, comments, a type and a call."""
    sign, at = found["assigned"] or found["cast"] or found["tested"], found.end()
    is_quoted = text[found.end(1) : found.end(1) + 1] in (*_QUOTES, "\\")
    made = found["compared"] or found["called"] or found["among"] or ""
    is_tested = found["tested"] is not None
    place = Place(found[1], found.start(1), sign, at, at, made.rstrip(), is_quoted, is_tested)
    if sign is None:
        return place
    if text[at : at + 1].isspace() or text[at : at + 1] in ("/", "-"):
        at = _GAP.match(text, at).end()  # type: ignore[union-attr]
    if sign == ":" and not is_header(text, place.name_at, at):
        default = find_default(text, at)
        if default is not None:
            at, place = default, place._replace(is_typed=True)
    call = _MADE.match(text, at) if sign != "->" or is_quoted else None
    if call is None:
        return place._replace(at=at)
    return place._replace(at=call.end(), made=call[0].rstrip())
