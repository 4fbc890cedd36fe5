"""Where a value in a text ends, and whether it says anything.

Everything here reads forward once: no pattern backtracks over the length of a value.
"""

import re
from typing import NamedTuple

from headwater.openlineage.masking.addresses import MASK

# The prefix of a literal in SQL (E, N, U&, _utf8), Python, Scala, C# or a shell.
_OPENING = re.compile(r"(?:[A-Za-z@$]{0,3}|[uU]&|_\w{2,12})(\\{0,7})([\"'`])")
_DOLLARS = re.compile(r"\$\w{0,63}\$")
_ORACLE = re.compile(r"[nN]?[qQ]'([^\s\w])")
_LONGEST_LITERAL = 10_000  # letters in which the end of a literal of a rare kind is looked for
_SCALAR = re.compile(r"[|>][\d+-]{0,3}[ \t]{0,20}(?:#[^\n]{0,200}+)?\n")
_LINE = re.compile(r"([ \t]*+)([^\n]*+)(?:\n|\Z)")
_YAML = re.compile(r"(?:&[\w-]{1,64}|!{1,2}[\w/:.-]{0,64})[ \t]{1,20}(?=\S)")
# A delimiter ends a value only where another key, a space or the end follows it.
_BARE = re.compile(
    r"[^\s,;&'\"<>|`()\[\]{}]++|[,;&](?!\s|\Z|[\w.\-]{1,64}+\s?[=:]|[\"'(])"
    r"|([(\[{]++)|([)\]}]++)"
)
_TUPLE = re.compile(r"\((?=\s*+[\"'])[^()]*+\)")
_BRACED = re.compile(r"\{[^{}\s]*+\}")
_LISTED = re.compile(r"\[(?=\s*+[\"'])[^\[\]]*+\]")
WORD = re.compile(r"[^\s,;&'\"<>|`()\[\]{}]{1,200}")
PLACEHOLDER = re.compile(
    r"(?:\$\{\{[^{}]{0,200}\}\}|\$\{[\w.\-/]{1,100}(?::[^{}:=?+\-][^{}]{0,200})?\}|"
    r"\$[A-Z_][A-Z0-9_]*|\$\d{1,3}|"
    r"\$\([^()]{0,200}\)|\{\{[^{}]{0,200}\}\}|\{\w{0,64}\}|"
    r"\{[A-Za-z_][\w.]{0,64}(?:![rsa])?\}|#\{[^{}]{0,200}\}|%\(\w{1,64}\)s|"
    r"%[sdr]|\?|<[\w .:/-]{0,100}>|\[(?i:hidden|redacted|masked)\]|[*•…xX.\-]{3,200})"
    r"(?![\w@#!%+/=-])"
)
# Not the end of a sentence, nor a method of a text: `"a".getBytes`, `"a".strip()`.
_FIELD = re.compile(
    r"[\"`]\.(?=[\"`\w*])(?![A-Za-z_]\w{0,60}\(|(?:get|to|as)[A-Z]|(?:bytes|trim|strip)\b)"
)
_LINES = re.compile(r"-[ \t]+[^\n]*+")
_FIRST_OF_LINE = re.compile(r"-[ \t]{1,20}[^\n]{0,100}+")
_FLOW = re.compile(r"\[[^\[\]\n\"'{}]*+\]")
_REFERENCE = re.compile(r"\$\{[A-Za-z][\w-]*:[^{}]+\}")


class Value(NamedTuple):
    """Part of a text: `start` and `end` of what would be masked."""

    start: int
    end: int
    is_quoted: bool


def find_quoted(text: str, at: int) -> Value | None:
    """The text in quotes that begins at a place; one that never ends is taken to its line's end."""
    opening = _OPENING.match(text, at)
    if opening is None or _ORACLE.match(text, at):
        return _find_rare(text, at)
    quote, start = opening[2], opening.end()
    if not opening[1] and text.startswith(quote * 2, start):
        end = text.find(quote * 3, start + 2)
        return Value(start + 2, end if end >= 0 else len(text), True)
    end = _closing(text, start, quote, len(opening[1]))
    if end == start and text[start + 1 : start + 2].isalnum():  # quotes twice, inside of others
        twice = text.find(quote * 2, start + 1, start + _LONGEST_LITERAL)
        if twice >= 0:
            return Value(start + 1, twice, True)
    line = text.find("\n", start, end)
    return Value(start, end if line < 0 else line, True)


def _find_rare(text: str, at: int) -> Value | None:
    """A literal in PostgreSQL's dollars, or in the quotes of one's choice of Oracle."""
    dollars = _DOLLARS.match(text, at)
    if dollars is not None:
        end = text.find(dollars[0], dollars.end(), dollars.end() + _LONGEST_LITERAL)
        return Value(dollars.end(), end, True) if end > dollars.end() else None
    oracle = _ORACLE.match(text, at)
    if oracle is None:
        return None
    start = oracle.end() - 1
    closing = {"[": "]", "(": ")", "{": "}", "<": ">"}.get(oracle[1], oracle[1]) + "'"
    end = text.find(closing, start + 1, start + _LONGEST_LITERAL)
    return Value(start, end + 1 if end >= 0 else len(text), True)


def find_scalar(text: str, at: int) -> Value | None:
    """The lines of YAML's `key: |` and `key: >`, whose value begins at a place."""
    opening = _SCALAR.match(text, at)
    if opening is None:
        return None
    begin = text.rfind("\n", max(0, at - 400), at) + 1
    least = len(text[begin:at]) - len(text[begin:at].lstrip(" -")) + 1
    start, end = 0, opening.end()
    line = _LINE.match(text, end)
    while line is not None and line.start() < len(text):
        if line[2].strip():
            if len(line[1]) < least:
                break
            if not start:
                least, start = len(line[1]), line.start(2)
            end = line.end(2)
        line = _LINE.match(text, line.end())
    return Value(start, end, False) if start else None


def find_items(text: str, at: int, most: int | None = None) -> Value | None:
    """Items of a list without quotes: YAML's lines with a dash, or those of `[a, b]`.

    With `most`, only so many lines; and only the beginning of items in the line of their name.
    """
    flow = _FLOW.match(text, at)
    if flow is not None and "," in flow[0]:
        return Value(at + 1, flow.end() - 1, False)
    indent = text[text.rfind("\n", max(0, at - 80), at) + 1 : at]
    has_lines = not indent.strip()
    line = (_LINES if has_lines or most is None else _FIRST_OF_LINE).match(text, at)
    if line is None:
        return None
    end, most = line.end(), len(text) if most is None else most
    while most > 0 and has_lines and text.startswith(f"\n{indent}-", end):
        most -= 1
        line = _LINES.match(text, end + 1 + len(indent))
        if line is None:
            break
        end = line.end()
    return Value(at + 1 + len(text[at + 1 : end]) - len(text[at + 1 : end].lstrip()), end, False)


def after_tags(text: str, at: int) -> int:
    """Where a value of YAML begins that has an anchor or a type before it."""
    tag = _YAML.match(text, at)
    return tag.end() if tag is not None else at


def find_value(text: str, at: int) -> Value | None:
    """The value that begins at a place: in quotes, in braces, a list of texts, or bare."""
    found = find_quoted(text, at)
    if found is not None:
        return found
    for pattern in (_BRACED, _LISTED, _TUPLE):
        enclosed = pattern.match(text, at)
        if enclosed is not None:
            return Value(at + 1, enclosed.end() - 1, True)
    end = _bare_end(text, at)
    return Value(at, end, False) if end > at else None


def is_empty(value: str) -> bool:
    """Whether a value says nothing, or only names where the secret is."""
    return not value.strip() or value == MASK or PLACEHOLDER.fullmatch(value.strip()) is not None


def is_reference(value: str) -> bool:
    """Whether nothing but references such as `${env:NAME}` is in a value of a configuration."""
    rest = _REFERENCE.sub("", value)
    return rest != value and not re.search(r"\w", rest)


def is_identifier(text: str, value: Value) -> bool:
    """Whether a text in quotes is the first part of a name: `"b"."password"`."""
    return _FIELD.match(text, value.end) is not None


def _bare_end(text: str, at: int) -> int:
    """Where a bare value ends; it may stand in brackets, as in `connect(password=x)`."""
    end = _word_end(text, at)
    comment = text.find("*/", at, end)
    return end if comment < 0 else comment


def _word_end(text: str, at: int) -> int:
    opened = 0
    piece = _BARE.match(text, at)
    while piece is not None:
        opened += len(piece[1] or "")
        if piece[2]:
            following = text[piece.end() : piece.end() + 1]
            if opened < len(piece[2]) and (not following or following in " \t\r\n,;./:&'\"<>|`"):
                return piece.start() + opened
            opened = max(0, opened - len(piece[2]))
        at = piece.end()
        piece = _BARE.match(text, at)
    return at


def _closing(text: str, start: int, quote: str, escapes: int) -> int:
    at = start
    while True:
        at = text.find(quote, at)
        if at < 0:
            return len(text)
        before = at
        while before > start and text[before - 1] == "\\":
            before -= 1
        count = at - before
        if escapes and count <= escapes:
            return before
        if not escapes and count % 2 == 0:
            if at == start or not text.startswith(quote * 2, at):
                return at
            at += 1
        at += 1
